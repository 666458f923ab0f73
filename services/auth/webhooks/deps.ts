// The dependencies of the RPCs about webhooks.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { fault } from '#client/errors/fault.js';
import type { AuthConfig } from '../config.js';
import type { Notifier } from '../notifications/notifier.js';
import type { NotificationStore } from '../notifications/store.js';
import { type MailBudget, mailWindowMs } from '../users/store/mail-budget.js';
import type { WebhookEndpointStore } from './endpoint-store.js';

/** Holds the dependencies that every RPC about webhooks receives. */
export interface WebhookDeps {
  readonly db: Database;
  readonly endpoints: WebhookEndpointStore;
  readonly notifications: NotificationStore;
  readonly notifier: Notifier;
  /** Counts what users send by hand. */
  readonly budget: MailBudget;
  readonly audit: AuditLog;
  readonly config: Pick<AuthConfig, 'privateWebhooks'>;
  readonly clock: Clock;
}

/** Requests per account that users may send by hand within an hour. */
export const manualPerHourMax = 60;

/** Counts a request that a user sends by hand. Raises overloaded. */
export async function countManual({ budget, clock }: WebhookDeps, accountId: string): Promise<void> {
  if (!(await budget.take(`webhook ${accountId}`, manualPerHourMax, clock.nowMs())))
    throw fault('alerts_per_hour', { max: manualPerHourMax }, { retryAfterMs: mailWindowMs });
}
