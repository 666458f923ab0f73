// What the gateway needs from the services: the narrowest clients that do the job.
import type { Health } from '#grpc/health/v1/health.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import type { ConsolePeers } from './console/peers.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';
import type { InferenceService } from '#proto/inference/v1/inference.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';

/** Clients of the five services, local or remote: the gateway does not know which. */
export interface GatewayPeers {
  readonly auth: Pick<AuthService, 'authenticate' | 'watchKeys'> & ConsolePeers['auth'];
  readonly users: ConsolePeers['users'];
  readonly callers: ConsolePeers['callers'];
  readonly notifications: ConsolePeers['notifications'];
  readonly webhooks: ConsolePeers['webhooks'];
  readonly catalog: Pick<CatalogService, 'watchCatalog' | 'listPriceVersions'> & ConsolePeers['catalog'];
  readonly ledger: Pick<LedgerService, 'hold' | 'release' | 'getBalance' | 'listKeySpend'> & ConsolePeers['ledger'];
  readonly alerts: ConsolePeers['alerts'];
  readonly payments: ConsolePeers['payments'];
  readonly metering: Pick<
    MeteringService,
    | 'checkpointUsage'
    | 'recordUsage'
    | 'refundUndeliveredAnswer'
    | 'recordRefusals'
    | 'storePromptLogs'
    | 'getUsageRecord'
    | 'getOutbox'
    | 'reserveIdempotencyKey'
    | 'releaseIdempotencyKey'
    | 'offerCall'
    | 'joinCall'
    | 'getStoredParts'
    | 'deleteStoredParts'
    | 'listModelPerformance'
  > &
    ConsolePeers['metering'];
  readonly inference: Pick<InferenceService, 'generate' | 'countTokens' | 'countUsage' | 'listUpstreams'> & ConsolePeers['inference'];
  /** The health of the services that write for every call. */
  readonly health: Readonly<Record<'ledger' | 'metering', Pick<Health, 'check'>>>;
}
