// The dependencies of the RPCs about notifications.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Database } from '#kit/db/open.js';
import type { WebhookPublisher } from '../webhooks/events.js';
import type { Notifier } from './notifier.js';
import type { DeliveryDeps } from './try-delivery.js';

/** Holds the dependencies that every RPC about notifications receives. */
export interface NotificationDeps extends DeliveryDeps {
  readonly db: Database;
  readonly notifier: Notifier;
  readonly events: Pick<WebhookPublisher, 'publish'>;
  readonly audit: AuditLog;
}
