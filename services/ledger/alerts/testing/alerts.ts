// Alerts next to a running ledger, whose jobs a test runs by hand, and receivers for what they send.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AuditOutbox } from '#kit/audit/audit-outbox.js';
import { openDatabase, type Database, type Engine } from '#kit/db/open.js';
import { migrate } from '#kit/db/migrate.js';
import { type Mail, MailFailure, type Mailer } from '#kit/mail/mailer.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import { migrations } from '../../migrations/index.js';
import { Reads } from '../../store/reads.js';
import { startTestLedger, type TestLedger } from '../../testing/ledger.js';
import { DeliveryWorker } from '../delivery-worker.js';
import type { AlertDeps } from '../deps.js';
import { alertService } from '../service.js';
import { AlertStore } from '../store/alerts.js';
import { DeliveryStore } from '../store/deliveries.js';
import { AlertWatcher } from '../watcher.js';

/** Holds the alerts of one process. */
export interface Process {
  readonly service: AlertService;
  readonly watcher: AlertWatcher;
  readonly deliveryWorker: DeliveryWorker;
  readonly deps: AlertDeps;
  /** Sends what is due and waits until it is sent. */
  send(): Promise<void>;
}

/** Holds a ledger with alerts. */
export interface TestAlerts extends Process {
  readonly ledger: TestLedger;
  /** Mails that the server accepted. */
  readonly mails: Mail[];
  /** Failures that the mail server returns next instead of accepting a mail. */
  readonly mailFailures: MailFailure[];
  /** Starts another process on the same database. */
  replica(): Promise<Process>;
  stop(): Promise<void>;
}

/** Starts a ledger on an empty database with alerts whose jobs do not run by themselves. */
export async function startTestAlerts(
  engine: Engine,
  changes: Partial<Pick<AlertDeps, 'mailer' | 'publicUrl' | 'config'>> = {},
): Promise<TestAlerts> {
  const ledger = await startTestLedger(engine);
  const mails: Mail[] = [];
  const mailFailures: MailFailure[] = [];
  const mailer: Mailer = {
    async send(mail) {
      const failure = mailFailures.shift();
      if (failure !== undefined) throw failure;
      mails.push(mail);
      return '250 taken';
    },
    close: () => undefined,
  };
  const box = new SecretBox(randomBytes(32));
  const process = (db: Database): Process => {
    const { clock, log } = ledger;
    const config = { alertIntervalMs: 3_600_000, alertRetryMs: 10_000, alertPrivateWebhooks: true };
    const deps: AlertDeps = {
      alerts: new AlertStore(db),
      deliveries: new DeliveryStore(db),
      reads: new Reads(db),
      auditLog: new AuditOutbox({ db, receiver: ledger.auth, caller: 'ledger', clock, log }),
      box,
      mailer,
      publicUrl: 'https://console.example.com',
      config,
      clock,
      log,
      ...changes,
    };
    const deliveryWorker = new DeliveryWorker(deps);
    return {
      service: alertService(deps),
      watcher: new AlertWatcher(deps),
      deliveryWorker,
      deps,
      async send() {
        await deliveryWorker.begin();
        await deliveryWorker.idle();
      },
    };
  };
  const replicas: Database[] = [];
  return {
    ...process(ledger.db),
    ledger,
    mails,
    mailFailures,
    async replica() {
      // A SQLite file has one connection, shared by two jobs of a process; a second connection would wait for the first forever.
      if (engine === 'sqlite') return process(ledger.db);
      const db = openDatabase(ledger.url);
      replicas.push(db);
      await migrate(db, migrations);
      return process(db);
    },
    async stop() {
      for (const db of replicas) await db.close();
      await ledger.stop();
    },
  };
}

/** Holds a request that a receiver got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Holds an endpoint for webhooks. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Determines the response from now on. */
  answer: (response: ServerResponse) => void;
  stop(): Promise<void>;
}

/** Starts a receiver on loopback that responds with 200. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const receiver = {
    received,
    answer: (response: ServerResponse): void => void response.end('thanks'),
  };
  const server: Server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    received.push({ path: request.url ?? '', headers: request.headers, body });
    receiver.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}/hook?of=us`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
