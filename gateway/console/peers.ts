// The RPCs of the services that the console calls.
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

type CodePeers = Pick<LedgerService, 'redeemCode' | 'createRedemptionCodes' | 'listRedemptionCodes' | 'voidRedemptionCodes'>;

/** The RPCs that the console calls in addition to those for model calls. */
export interface ConsolePeers {
  readonly auth: Pick<
    AuthService,
    | 'getHealth'
    | 'createAccount'
    | 'getAccount'
    | 'listAccounts'
    | 'updateAccount'
    | 'updateAccountBudgets'
    | 'updateAccountPrivacy'
    | 'updateAccountSecurity'
    | 'createProject'
    | 'getProject'
    | 'listProjects'
    | 'updateProject'
    | 'deleteProject'
    | 'createKey'
    | 'getKey'
    | 'listKeys'
    | 'updateKey'
    | 'rotateKey'
    | 'revokeKey'
  >;
  readonly users: UserService;
  readonly callers: Pick<CallerService, 'listCallers'>;
  readonly notifications: Pick<NotificationService, 'listNotifications' | 'getDeliveryStatus'>;
  readonly webhooks: WebhookService;
  readonly ledger: Pick<
    LedgerService,
    | 'getBalance'
    | 'listKeySpend'
    | 'listBudgetSpend'
    | 'getHold'
    | 'listOpenHolds'
    | 'listEntries'
    | 'listStatements'
    | 'getStatement'
    | 'getEntry'
    | 'getEntryByIdempotencyKey'
  > &
    CodePeers &
    Pick<LedgerService, 'getHealth' | 'batchGetBalances' | 'deposit' | 'adjust' | 'refund' | 'verify'>;
  readonly alerts: AlertService;
  readonly payments: PaymentService;
  readonly metering: Pick<
    MeteringService,
    | 'getHealth'
    | 'getReconciliation'
    | 'getUsageRecord'
    | 'listUsageRecords'
    | 'getUsageTotals'
    | 'getUsagePerformance'
    | 'readPromptLog'
    | 'deletePromptLog'
    | 'getRefusal'
    | 'listRefusals'
    | 'getRefusalTotals'
    | 'batchGetKeyActivity'
    | 'estimateCharges'
  >;
  readonly catalog: Pick<
    CatalogService,
    | 'getHealth'
    | 'listModels'
    | 'getModel'
    | 'putModel'
    | 'pauseModel'
    | 'resumeModel'
    | 'listPriceVersions'
    | 'putPriceDraft'
    | 'getPriceDraft'
    | 'listPriceDrafts'
    | 'deletePriceDraft'
    | 'publishPriceDraft'
  >;
  readonly inference: Pick<
    InferenceService,
    | 'getHealth'
    | 'listUpstreams'
    | 'putUpstream'
    | 'putCredential'
    | 'deleteCredential'
    | 'listTargetHealth'
    | 'overrideTarget'
    | 'deleteUpstream'
    | 'testUpstream'
  >;
}
