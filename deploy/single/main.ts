// All of Tollgate in one process: a SQLite file per service, one for ledger and metering together, no network between the services, one public address.
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { WebhookServiceDefinition } from '#proto/auth/v1/webhooks.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { PaymentServiceDefinition } from '#proto/ledger/v1/payments.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { claimAdminSocket } from '#kit/process/admin-socket.js';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { createFolder } from '#kit/config/folder.js';
import { assertUnchanged, checkTogether, ConfigError, type GroupValues } from '#kit/config/settings.js';
import type { Part } from '#kit/lifecycle.js';
import { createMailer } from '#kit/mail/mailer.js';
import { mailCheck, mailSettings } from '#kit/mail/settings.js';
import { type ProcessHost, runProcess } from '#kit/process/process.js';
import { Access } from '#kit/rpc/access/access.js';
import { followCallers } from '#kit/rpc/access/follow-callers.js';
import { crossings } from '#kit/rpc/local/crossing.js';
import { moduleHealth } from '#kit/rpc/grpc/health.js';
import { localClient } from '#kit/rpc/local/local-client.js';
import { decorateService } from '#kit/rpc/chain/standard-chain.js';
import { observeDisks } from '#kit/telemetry/runtime-metrics.js';
import { grpcPart, offer } from '#kit/process/service-process.js';
import { adoptSpools, createGateway, type Gateway, gatewaySettings, gatewayCheck } from '../../gateway/index.js';
import { authSettings, createAuth, signInCheck } from '../../services/auth/index.js';
import { catalogSettings, createCatalog } from '../../services/catalog/index.js';
import { createInference, SecretKeyFile, inferenceSettings } from '../../services/inference/index.js';
import { createAlerts, createLedger, createPayments, ledgerSettings, paymentCheck, paymentSettings } from '../../services/ledger/index.js';
import { createMetering, meteringSettings } from '../../services/metering/index.js';
import { refuseUnfinished } from '../backup/unfinished.js';
import { ensureFirstRun, createConsoleLink } from '../first-run.js';
import { refuseOtherData } from '../data-kind.js';
import { envFile } from '../env-file.js';
import { reachable } from '../reachable.js';
import { firstRunFacts } from '../show-secrets.js';
import { commandFor, type Welcome, welcomeText } from '../welcome.js';
import { grpcSettings, inProcessSettings, singleEnvironment, singleSettings } from './config.js';
import { gatewayThreads, gatewayThreadsDefault } from './gateway-threads.js';
import { networkListener } from './network-listener.js';

const startedAtMs = performance.timeOrigin;
const isTerminal = process.stdout.isTTY === true;

const settings = {
  single: singleSettings,
  inProcess: inProcessSettings,
  grpc: grpcSettings,
  auth: authSettings,
  catalog: catalogSettings,
  ledger: ledgerSettings,
  payments: paymentSettings,
  metering: meteringSettings,
  inference: inferenceSettings,
  gateway: gatewaySettings,
  mail: mailSettings,
};

// The processes of a distributed gateway cannot check this, because each knows only some of the settings.
const checkpointSettings = {
  intervalMs: gatewaySettings.checkpointIntervalMs,
  holdTtlMs: meteringSettings.holdTtlMs,
  leaseMs: meteringSettings.leaseMs,
};
const checkpointCheck = checkTogether(checkpointSettings, ({ intervalMs, holdTtlMs, leaseMs }) => {
  const faults: string[] = [];
  if (holdTtlMs <= intervalMs)
    faults.push('TOLLGATE_METERING_HOLD_TTL must be longer than TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL, so that holds outlive their calls');
  // Metering closes a lost call, and the stream of a call that still runs would break off.
  if (leaseMs <= intervalMs)
    faults.push(
      'TOLLGATE_METERING_LEASE must be longer than TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL, so that calls in flight do not count as lost',
    );
  if (faults.length > 0) throw new ConfigError(faults);
});

const grpcCheck = checkTogether(grpcSettings, (values) => {
  if (values.listen === undefined) assertUnchanged(grpcSettings, values, 'TOLLGATE_GRPC_LISTEN', 'set that too');
});

const checks = [mailCheck, signInCheck, paymentCheck, gatewayCheck, checkpointCheck, grpcCheck];

await runProcess({ name: 'single', settings, checks, ownPrefixes: ['TOLLGATE_'], build }, singleEnvironment(isTerminal));

async function build(config: GroupValues<typeof settings>, host: ProcessHost): Promise<Part[]> {
  const { log, clock } = host;
  const { dataDir } = config.single;
  createFolder(singleSettings.dataDir.env, dataDir);
  const unlock = lockFolder(dataDir);
  refuseUnfinished(dataDir);
  refuseOtherData(dataDir, 'single');
  const spoolDir = config.gateway.spoolDir ?? join(dataDir, 'spool');
  createFolder(gatewaySettings.spoolDir.env, spoolDir);
  const crossing = crossings[config.inProcess.messages];
  const socketPath = await claimAdminSocket(dataDir);

  const open = (name: string): Database => openDatabase(`sqlite:${join(dataDir, `${name}.db`)}`, { onSyncFailure: host.fail });
  const databases = {
    auth: open('auth'),
    catalog: open('catalog'),
    // Ledger and metering share a file, so that a record and its settlement are one commit.
    books: open('books'),
    inference: open('inference'),
  };
  let endDisks = (): void => {};
  const databasesPart: Part = {
    name: 'databases',
    async start() {
      endDisks = observeDisks({ data: dataDir }, log);
    },
    async stop() {
      endDisks();
      for (const db of Object.values(databases)) await db.close();
      unlock();
    },
  };

  const secretKeys = new SecretKeyFile(join(dataDir, 'secret-key'));
  const { lostSecretKey } = config.single;
  const access = new Access();
  const chain = { access, log };
  const auth = createAuth(config.auth, {
    secretKeys,
    lostSecretKey,
    db: databases.auth,
    clock,
    log,
    mailer: createMailer(config.mail),
    publicUrl: config.gateway.publicUrl,
  });
  const authService = decorateService(AuthServiceDefinition, auth.service, chain);
  const users = decorateService(UserServiceDefinition, auth.users.service, chain);
  const notifications = decorateService(NotificationServiceDefinition, auth.notifications.service, chain);
  const authFor = (caller: string) => localClient(UserServiceDefinition, users, { caller, crossing });
  const catalog = createCatalog(config.catalog, { db: databases.catalog, clock, log, auth: authFor('catalog') });
  const catalogService = decorateService(CatalogServiceDefinition, catalog.service, chain);
  const ledger = createLedger(config.ledger, { db: databases.books, clock, log, access, auth: authFor('ledger'), sharesRecords: true });
  const ledgerService = decorateService(LedgerServiceDefinition, ledger.service, chain);
  const alerts = createAlerts(config.ledger, {
    db: databases.books,
    clock,
    log,
    auditLog: ledger.auditLog,
    notifications: localClient(NotificationServiceDefinition, notifications, { caller: 'ledger', crossing }),
    publicUrl: config.gateway.publicUrl,
  });
  const alertService = decorateService(AlertServiceDefinition, alerts.service, chain);
  const accounts = localClient(AuthServiceDefinition, authService, { caller: 'ledger', crossing });
  const payments = createPayments(config.payments, { ledger, accounts, clock, log });
  const metering = createMetering(config.metering, {
    db: databases.books,
    clock,
    log,
    access,
    ledger: localClient(LedgerServiceDefinition, ledgerService, { caller: 'metering', crossing }),
    settleInTransaction: ledger.settleInTransaction,
    catalog: localClient(CatalogServiceDefinition, catalogService, { caller: 'metering', crossing }),
    alerts: localClient(AlertServiceDefinition, alertService, { caller: 'metering', crossing }),
    auth: authFor('metering'),
    promptLogs: { projects: localClient(AuthServiceDefinition, authService, { caller: 'metering', crossing }), secretKeys, lostSecretKey },
  });
  const inference = createInference(config.inference, {
    db: databases.inference,
    clock,
    log,
    secretKeys,
    lostSecretKey,
    auth: authFor('inference'),
  });

  const offers = [
    offer(AuthServiceDefinition, auth),
    offer(UserServiceDefinition, auth.users),
    offer(CallerServiceDefinition, auth.callers),
    offer(NotificationServiceDefinition, auth.notifications),
    offer(WebhookServiceDefinition, auth.webhooks),
    offer(CatalogServiceDefinition, catalog),
    offer(LedgerServiceDefinition, ledger),
    offer(AlertServiceDefinition, alerts),
    offer(PaymentServiceDefinition, payments),
    offer(MeteringServiceDefinition, metering),
    offer(InferenceServiceDefinition, inference),
  ];
  const { gatewayThreads: configured, messages } = config.inProcess;
  const threads = configured ?? gatewayThreadsDefault();
  const as = { caller: 'gateway', crossing };
  const health = moduleHealth(new Map(offers.map(({ serviceName, module }) => [serviceName, module])));
  const gatewayInThisThread = (): Gateway => {
    adoptSpools(spoolDir, [], spoolDir);
    return createGateway(config.gateway, {
      peers: {
        auth: localClient(AuthServiceDefinition, authService, as),
        users: localClient(UserServiceDefinition, users, as),
        callers: localClient(CallerServiceDefinition, decorateService(CallerServiceDefinition, auth.callers.service, chain), as),
        notifications: localClient(NotificationServiceDefinition, notifications, as),
        webhooks: localClient(WebhookServiceDefinition, decorateService(WebhookServiceDefinition, auth.webhooks.service, chain), as),
        catalog: localClient(CatalogServiceDefinition, catalogService, as),
        ledger: localClient(LedgerServiceDefinition, ledgerService, as),
        alerts: localClient(AlertServiceDefinition, alertService, as),
        payments: localClient(PaymentServiceDefinition, decorateService(PaymentServiceDefinition, payments.service, chain), as),
        metering: localClient(MeteringServiceDefinition, decorateService(MeteringServiceDefinition, metering.service, chain), as),
        inference: localClient(InferenceServiceDefinition, decorateService(InferenceServiceDefinition, inference.service, chain), as),
        health: { ledger: health, metering: health },
      },
      clock,
      log,
      common: host.common,
      spoolDir,
    });
  };
  const gateway =
    threads === 0
      ? gatewayInThisThread()
      : gatewayThreads(
          { threads, gateway: config.gateway, inference: config.inference, dataDir, spoolDir, messages, offers, health, access },
          host,
        );

  // Only the user who runs this process can open the socket, so that its callers need no certificate.
  const operatorSocket = grpcPart({ address: `unix:${socketPath}`, offers, access, tls: undefined }, host);
  const listeners = await networkListener(config.grpc, dataDir, { offers, access }, host);

  // The first run comes last: an operator who fixes what prevented a start still needs the link and the key.
  const welcomePart: Part = {
    name: 'welcome',
    async start() {
      const address = reachable(gateway.address());
      const { publicUrl, traceUrl, spoolDir: ownSpoolDir } = config.gateway;
      const operatorEnv = {
        TOLLGATE_GATEWAY_URL: address,
        // Not the default, which moves with the data folder.
        ...(ownSpoolDir !== undefined && { [gatewaySettings.spoolDir.env]: resolve(ownSpoolDir) }),
        ...(publicUrl !== undefined && { [gatewaySettings.publicUrl.env]: publicUrl }),
        ...(traceUrl !== undefined && { [gatewaySettings.traceUrl.env]: traceUrl }),
      };
      writeFileSync(join(dataDir, 'operator.env'), envFile(operatorEnv), { mode: 0o600 });
      const welcome = { dataDir, address, publicUrl: publicUrl ?? address, mode: 'one process, SQLite', command: commandFor(dataDir) };
      const print = (firstRun?: Welcome['firstRun']): void =>
        void process.stdout.write(welcomeText({ ...welcome, startedInMs: Date.now() - startedAtMs, ...(firstRun && { firstRun }) }));
      const clients = { auth: auth.service, users: auth.users.service, ledger: ledger.service };
      const isFirst = await ensureFirstRun(dataDir, clients, config.single, async (firstRun) => {
        const link = await createConsoleLink(auth.users.service, firstRun.operatorEmail, welcome.publicUrl);
        print(firstRunFacts(firstRun, link, dataDir, isTerminal));
      });
      if (!isFirst) print();
    },
    stop: async () => undefined,
  };
  const following = followCallers({ access, source: auth.callers.service, caller: 'auth', clock, log });
  return [
    databasesPart,
    auth,
    following,
    catalog,
    ledger,
    alerts,
    payments,
    metering,
    inference,
    operatorSocket,
    ...listeners,
    gateway,
    welcomePart,
  ];
}
