// Alerts next to a running ledger, whose watcher a test runs by hand, and a notifier that records what it receives.
import { AppError } from '#client/errors/app-error.js';
import { AuditOutbox } from '#kit/audit/audit-outbox.js';
import { openDatabase, type Database, type Engine } from '#kit/db/open.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { eventually } from '#kit/testing/waiting.js';
import { type NewNotification, Notification, type NotificationEntry, NotificationState } from '#proto/auth/v1/notifications.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import type { WebhookBody } from '#rules/webhook-events.js';
import { migrations } from '../../migrations/index.js';
import { Reads } from '../../store/reads.js';
import { startTestLedger, type TestLedger } from '../../testing/ledger.js';
import { DueAlertStore } from '../budgets/due-alerts.js';
import type { AlertDeps } from '../deps.js';
import { createNotificationOutbox, notificationOutbox, type Notifications } from '../notification-outbox.js';
import { alertService } from '../service.js';
import { AlertStore } from '../store/alerts.js';
import { AlertWatcher } from '../watcher.js';

/** A notifier that records what it receives, each entry once. */
class RecordedNotifications implements Notifications {
  readonly entries = new Map<string, NotificationEntry>();
  /** Every id received, also repeatedly. */
  readonly ids: string[] = [];
  /** Whether the notifier fails before or after it stores the entries; undefined if it answers. */
  fails: 'before' | 'after' | undefined;

  async appendNotifications({ entries, wait }: Parameters<Notifications['appendNotifications']>[0]) {
    if (this.fails === 'before') throw new AppError('service_unavailable', 'It is stopped.');
    for (const entry of entries) {
      this.ids.push(entry.id);
      if (!this.entries.has(entry.id)) this.entries.set(entry.id, entry);
    }
    if (this.fails === 'after') throw new AppError('service_unavailable', 'The connection broke.');
    const state = NotificationState.NOTIFICATION_STATE_DELIVERED;
    return { notifications: wait ? entries.map(({ id }) => Notification.fromPartial({ id, state })) : [] };
  }

  /** The mails that it was given to deliver, in order. */
  get sent(): NewNotification[] {
    return [...this.entries.values()].flatMap(({ entry }) => (entry?.$case === 'notification' ? [entry.value] : []));
  }

  /** The mails as their readers see them. */
  get mails(): { to: string; subject: string; text: string }[] {
    return this.sent.map(({ destination: to, mail }) => ({ to, ...mail! }));
  }

  /** The events for webhooks. */
  get events(): WebhookBody[] {
    return [...this.entries.values()].flatMap(({ entry }) =>
      entry?.$case === 'event' ? [JSON.parse(entry.value.eventJson) as WebhookBody] : [],
    );
  }
}

/** Holds the alerts of one process. */
interface Process {
  readonly service: AlertService;
  readonly watcher: AlertWatcher;
  readonly deps: AlertDeps;
}

/** Holds a ledger with alerts. */
export interface TestAlerts extends Process {
  readonly ledger: TestLedger;
  readonly notifier: RecordedNotifications;
  /** Waits until all notifications are shipped. */
  shipped(): Promise<void>;
  /** Starts another process on the same database. */
  replica(): Promise<Process>;
  stop(): Promise<void>;
}

/** Starts a ledger on an empty database with alerts whose watcher does not run by itself. */
export async function startTestAlerts(engine: Engine): Promise<TestAlerts> {
  const ledger = await startTestLedger(engine);
  const notifier = new RecordedNotifications();
  const stops: (() => Promise<void>)[] = [];
  const start = (db: Database): Process => {
    const { clock, log } = ledger;
    const outbox = createNotificationOutbox({ db, notifications: notifier, log });
    const deps: AlertDeps = {
      alerts: new AlertStore(db, outbox),
      dueAlerts: new DueAlertStore(db),
      outbox,
      notifications: notifier,
      reads: new Reads(db),
      auditLog: new AuditOutbox({ db, receiver: ledger.auth, caller: 'ledger', clock, log }),
      publicUrl: 'https://console.example.com',
      config: { alertIntervalMs: 3_600_000 },
      clock,
      log,
    };
    outbox.start();
    stops.push(() => outbox.stop());
    return { service: alertService(deps), watcher: new AlertWatcher(deps), deps };
  };
  return {
    ...start(ledger.db),
    ledger,
    notifier,
    async shipped() {
      await eventually(async () => ((await ledger.db.knex(notificationOutbox).first('id')) === undefined ? true : undefined));
    },
    async replica() {
      // A SQLite file has one connection, shared by two jobs of a process; a second connection would wait for the first forever.
      if (engine === 'sqlite') return start(ledger.db);
      const db = openDatabase(ledger.url);
      stops.unshift(() => db.close());
      await migrate(db, migrations);
      return start(db);
    },
    async stop() {
      for (const stop of stops.reverse()) await stop();
      await ledger.stop();
    },
  };
}
