// Runs Tollgate on one machine the way it runs on several: a process for each service and the gateway, gRPC with mutual TLS between
// them, and a private MariaDB or Galera cluster in the data folder, and Redis. This launcher starts, supervises and stops them.
import { chmodSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';
import { createFolder } from '#kit/config/folder.js';
import type { Part } from '#kit/lifecycle.js';
import { type ProcessHost, runProcess } from '#kit/process/process.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { readTls } from '#client/tls.js';
import { type ServiceName, serviceNames as services } from '#rules/services.js';
import { type CertificateFiles, ensureCertificate } from '#kit/tls/certificate-files.js';
import { refuseUnfinished } from '../backup/unfinished.js';
import { refuseOtherData } from '../data-kind.js';
import { ensureFirstRun, createConsoleLink } from '../first-run.js';
import { reachable } from '../reachable.js';
import { firstRunFacts } from '../show-secrets.js';
import { commandFor, type Welcome, welcomeText } from '../welcome.js';
import { distributedEnvironment, distributedSettings, forLauncher, passedOn } from './config.js';
import { envFile } from '../env-file.js';
import { logRotation } from './processes/log-rotation.js';
import { claimPorts } from './ports.js';
import { processIds } from './processes/process-ids.js';
import { untilReleased } from './released.js';
import { nodeCount, nodeNames } from './galera/cluster.js';
import { superviseGalera } from './galera/supervised.js';
import { binaryLogOptions } from './mariadb/mariadb.js';
import { superviseMariadb } from './mariadb/supervised.js';
import { superviseRedis } from './redis.js';
import { supervise, type Supervised } from './processes/supervisor.js';

const startedAtMs = performance.timeOrigin;
const isTerminal = process.stdout.isTTY === true;
const env = distributedEnvironment(isTerminal);
const startMsMax = 60_000;
// A process gives itself less (kit/process/process.ts), so that it is killed only if it hangs.
const stopMsBeyondDraining = 15_000;
// The gateway drains first; the others, which stop after it one by one, then have little left to do.
const stopMsExtra = 60_000;

const settings = { launcher: distributedSettings };
await runProcess({ name: 'distributed', settings, ownPrefixes: ['TOLLGATE_'], stopMsExtra, build }, forLauncher(env));

async function build(config: { launcher: import('./config.js').DistributedConfig }, { log, common }: ProcessHost): Promise<Part[]> {
  const { port, firstPort, database, binaryLogs, restartDelayMs, logBytesMax, logFilesKept } = config.launcher;
  const dataDir = resolve(config.launcher.dataDir);
  const tlsFolder = join(dataDir, 'tls');
  const logFolder = join(dataDir, 'logs');
  for (const folder of [dataDir, logFolder]) createFolder(distributedSettings.dataDir.env, folder);
  // Galera's nodes never run as root and need access to their folder below this one. Everything else in it is readable only by its owner.
  if (database === 'galera' && process.getuid?.() === 0) chmodSync(dataDir, 0o711);
  const unlock = lockFolder(dataDir);
  refuseUnfinished(dataDir);
  refuseOtherData(dataDir, database);
  const lock: Part = { name: 'lock', start: async () => undefined, stop: async () => unlock() };

  // The public port, then consecutive ports for the services, in their order, the database, and Redis.
  const databasePorts = database === 'galera' ? nodeCount : 1;
  const wanted = [
    port,
    ...Array.from({ length: services.length + databasePorts + 1 }, (_, index) => (firstPort === 0 ? 0 : firstPort + index)),
  ];
  const [publicPort, ...ports] = await claimPorts(wanted);
  // By the name in the certificates, because TLS sends no server name for an IP address (RFC 6066, section 3).
  const addresses = Object.fromEntries(services.map((name, index) => [name, `localhost:${ports[index]}`])) as Record<ServiceName, string>;
  const addressEnv = Object.fromEntries(services.map((name) => [`TOLLGATE_${name.toUpperCase()}_ADDRESS`, addresses[name]]));

  const notePid = processIds(dataDir, log);
  const store =
    database === 'galera'
      ? superviseGalera({
          dataDir: join(dataDir, 'galera'),
          ports: ports.slice(services.length, -1),
          log,
          restartDelayMs,
          onStart: (name, pid) => notePid(`galera-${name}`)(pid),
        })
      : superviseMariadb(
          {
            dataDir: join(dataDir, 'mariadb'),
            port: ports[services.length]!,
            extraOptions: binaryLogs ? binaryLogOptions : [],
            log,
            restartDelayMs,
          },
          notePid('mariadb'),
        );
  // Unless the operator has one.
  const redis =
    env['TOLLGATE_GATEWAY_REDIS_URL'] === undefined
      ? superviseRedis({ folder: join(dataDir, 'redis'), port: ports.at(-1)!, log, restartDelayMs }, notePid('redis'))
      : undefined;
  const redisEnv: Record<string, string> = redis === undefined ? {} : { TOLLGATE_GATEWAY_REDIS_URL: redis.url };
  // Services are servers and clients; the gateway and the operator are only clients.
  const certificates = new Map<string, CertificateFiles>();
  for (const name of [...services, 'gateway', 'operator']) {
    const hosts = (services as readonly string[]).includes(name) ? ['localhost', '127.0.0.1'] : [];
    certificates.set(name, await ensureCertificate(tlsFolder, name, { isClient: true, hosts }));
  }
  const tlsEnv = (name: string): Record<string, string> => {
    const { ca, cert, key } = certificates.get(name)!;
    return { TOLLGATE_TLS_CA: ca, TOLLGATE_TLS_CERT: cert, TOLLGATE_TLS_KEY: key };
  };
  const spoolDir = env['TOLLGATE_GATEWAY_SPOOL_DIR'] || join(dataDir, 'spool');
  // Unless the operator sets others.
  const files: Record<string, Record<string, string>> = {
    auth: { TOLLGATE_AUTH_SECRET_KEY_FILE: join(dataDir, 'auth-secret-key') },
    metering: { TOLLGATE_METERING_SECRET_KEY_FILE: join(dataDir, 'metering-secret-key') },
    inference: { TOLLGATE_INFERENCE_SECRET_KEY_FILE: join(dataDir, 'secret-key') },
    gateway: { TOLLGATE_GATEWAY_SPOOL_DIR: spoolDir },
  };
  const stopMsMax = common.lameDuckMs + common.drainTimeoutMs + stopMsBeyondDraining;
  const child = (name: string, script: string, own: () => Record<string, string>): Supervised =>
    supervise(
      {
        name,
        script: fileURLToPath(new URL(script, import.meta.url)),
        // The launcher stops one process after the other, and no other replica takes their calls meanwhile.
        env: () => ({ TOLLGATE_LAME_DUCK: '0s', ...files[name], ...passedOn(env, name), ...tlsEnv(name), ...own() }),
        logPath: join(logFolder, `${name}.log`),
        restartDelayMs,
        stopMsMax,
      },
      log,
      notePid(name),
    );
  const serviceParts = services.map((name) =>
    child(name, `../../services/${name}/main.js`, () => ({
      [`TOLLGATE_${name.toUpperCase()}_LISTEN`]: `127.0.0.1:${ports[services.indexOf(name)]}`,
      [`TOLLGATE_${name.toUpperCase()}_DATABASE_URL`]: store.url(`tollgate_${name}`),
      [`TOLLGATE_${name.toUpperCase()}_MIGRATION_DATABASE_URL`]: store.migrationUrl(`tollgate_${name}`),
      ...(name === 'auth' ? {} : { TOLLGATE_AUTH_ADDRESS: addresses.auth }),
      ...(name === 'metering' ? { TOLLGATE_LEDGER_ADDRESS: addresses.ledger, TOLLGATE_CATALOG_ADDRESS: addresses.catalog } : {}),
    })),
  );
  // After a launcher was killed, its gateway first completes the calls in flight.
  const spool: Part = {
    name: 'spool',
    start: () => untilReleased(spoolDir, 'TOLLGATE_GATEWAY_SPOOL_DIR', stopMsMax),
    stop: async () => undefined,
  };
  const gateway = child('gateway', '../../gateway/main.js', () => ({
    ...addressEnv,
    PORT: String(publicPort),
    ...redisEnv,
  }));

  const host = env['TOLLGATE_GATEWAY_HOST'] || '127.0.0.1';
  const address = reachable(`http://${host.includes(':') ? `[${host}]` : host}:${publicPort}`);
  const publicUrl = env['TOLLGATE_GATEWAY_PUBLIC_URL']?.replace(/\/+$/, '') || address;
  const operator: Part = {
    name: 'operator',
    async start() {
      const ofGateway = [
        'TOLLGATE_GATEWAY_TRACE_URL',
        'TOLLGATE_GATEWAY_PUBLIC_URL',
        'TOLLGATE_GATEWAY_SPOOL_DIR',
        'TOLLGATE_GATEWAY_REDIS_URL',
      ];
      const operatorEnv = {
        ...addressEnv,
        ...tlsEnv('operator'),
        TOLLGATE_GATEWAY_URL: address,
        ...Object.fromEntries(ofGateway.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
        ...redisEnv,
        TOLLGATE_DATA_DIR: dataDir,
        TOLLGATE_BACKUP_DATABASE_URL: store.backupUrl(),
      };
      writeFileSync(join(dataDir, 'operator.env'), envFile(operatorEnv), { mode: 0o600 });
    },
    stop: async () => undefined,
  };

  const welcome: Part = {
    name: 'welcome',
    async start() {
      await untilReady(address, [...serviceParts, gateway]);
      const welcome = {
        address,
        publicUrl,
        dataDir,
        mode: `one process per service, ${database === 'galera' ? 'Galera with three nodes' : 'MariaDB'}; logs in ${logFolder}`,
        command: commandFor(dataDir),
      };
      const print = (firstRun?: Welcome['firstRun']): void =>
        void process.stdout.write(welcomeText({ ...welcome, startedInMs: Date.now() - startedAtMs, ...(firstRun && { firstRun }) }));
      const isFirst = await firstRunOver(addresses, certificates.get('operator')!, { ...config.launcher, dataDir }, publicUrl, print);
      if (!isFirst) print();
    },
    stop: async () => undefined,
  };
  const rotation = logRotation(
    {
      folders: [logFolder, ...['mariadb', 'redis', ...nodeNames.map((name) => join('galera', name))].map((each) => join(dataDir, each))],
      bytesMax: logBytesMax,
      filesKept: logFilesKept,
    },
    log,
  );
  return [lock, rotation, store, ...(redis === undefined ? [] : [redis]), ...serviceParts, operator, spool, gateway, welcome];
}

async function firstRunOver(
  addresses: { auth: string; ledger: string },
  certificate: CertificateFiles,
  config: import('./config.js').DistributedConfig,
  address: string,
  print: (firstRun: Welcome['firstRun']) => void,
): Promise<boolean> {
  const options = { caller: 'operator', tls: readTls(certificate) };
  const auth = dialGrpc(addresses.auth, { ...options, service: 'auth' });
  const ledger = dialGrpc(addresses.ledger, { ...options, service: 'ledger' });
  const users = auth.client(UserServiceDefinition);
  try {
    return await ensureFirstRun(
      config.dataDir,
      { auth: auth.client(AuthServiceDefinition), users, ledger: ledger.client(LedgerServiceDefinition) },
      config,
      async (firstRun) =>
        print(firstRunFacts(firstRun, await createConsoleLink(users, firstRun.operatorEmail, address), config.dataDir, isTerminal)),
    );
  } finally {
    auth.close();
    ledger.close();
  }
}

/** Waits until the gateway reports that it is ready. Raises an Error if that takes too long or a process exits with an error. */
async function untilReady(address: string, processes: readonly Supervised[]): Promise<void> {
  for (const untilMs = Date.now() + startMsMax; Date.now() < untilMs; await sleep(50)) {
    for (const { name, fault } of processes) {
      const lines = fault();
      if (lines !== undefined) throw new Error(`${name} did not start. The last lines of its log:\n${lines}`);
    }
    const response = await fetch(`${address}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 200) return;
  }
  throw new Error('The gateway did not become ready in time; see the logs of the processes.');
}
