// The dependencies of alerts.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { Mailer } from '#kit/mail/mailer.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import type { LedgerConfig } from '../config.js';
import type { Reads } from '../store/reads.js';
import type { AlertStore } from './store/alerts.js';
import type { DeliveryStore } from './store/deliveries.js';

/** Holds the dependencies that every RPC and background job of alerts receives. */
export interface AlertDeps {
  readonly alerts: AlertStore;
  readonly deliveries: DeliveryStore;
  readonly reads: Reads;
  readonly auditLog: AuditLog;
  readonly box: SecretBox;
  /** Undefined: no mail is sent. */
  readonly mailer: Mailer | undefined;
  /** The public address at which users open the console. */
  readonly publicUrl: string | undefined;
  readonly config: Pick<LedgerConfig, 'alertIntervalMs' | 'alertRetryMs' | 'alertPrivateWebhooks'>;
  readonly clock: Clock;
  readonly log: Logger;
}
