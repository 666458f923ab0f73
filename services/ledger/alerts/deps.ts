// The dependencies of alerts.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { Outbox } from '#kit/outbox/outbox.js';
import type { NotificationEntry } from '#proto/auth/v1/notifications.js';
import type { LedgerConfig } from '../config.js';
import type { Reads } from '../store/reads.js';
import type { Notifications } from './notification-outbox.js';
import type { DueAlertStore } from './budgets/due-alerts.js';
import type { AlertStore } from './store/alerts.js';

/** Holds the dependencies that every RPC and background job of alerts receives. */
export interface AlertDeps {
  readonly alerts: AlertStore;
  readonly dueAlerts: DueAlertStore;
  readonly outbox: Outbox<NotificationEntry>;
  readonly notifications: Notifications;
  readonly reads: Reads;
  readonly auditLog: AuditLog;
  /** The public address at which users open the console. */
  readonly publicUrl: string | undefined;
  readonly config: Pick<LedgerConfig, 'alertIntervalMs'>;
  readonly clock: Clock;
  readonly log: Logger;
}
