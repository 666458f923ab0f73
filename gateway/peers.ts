// The services that the gateway calls. Its grants are in proto/rules/access/callers.ts; the services check them.
import type { Health } from '#grpc/health/v1/health.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import type { CallerService } from '#proto/auth/v1/callers.js';
import type { NotificationService } from '#proto/auth/v1/notifications.js';
import type { UserService } from '#proto/auth/v1/users.js';
import type { WebhookService } from '#proto/auth/v1/webhooks.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';
import type { InferenceService } from '#proto/inference/v1/inference.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { PaymentService } from '#proto/ledger/v1/payments.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';

/** Clients of the five services, local or remote: the gateway does not know which. */
export interface GatewayPeers {
  readonly auth: AuthService;
  readonly users: UserService;
  readonly callers: CallerService;
  readonly notifications: NotificationService;
  readonly webhooks: WebhookService;
  readonly catalog: CatalogService;
  readonly ledger: LedgerService;
  readonly alerts: AlertService;
  readonly payments: PaymentService;
  readonly metering: MeteringService;
  readonly inference: InferenceService;
  /** The health of the services that write for every call. */
  readonly health: Readonly<Record<'ledger' | 'metering', Pick<Health, 'check'>>>;
}
