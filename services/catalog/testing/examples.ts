// Valid messages for the catalog's tests, and a catalog over a test database.
import type { AuditReceiver } from '#kit/audit/audit-outbox.js';
import { type Clock, ManualClock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { callContext } from '#client/call-context.js';
import { recordedAudit } from '#kit/testing/audit.js';
import { failureOf } from '#kit/testing/waiting.js';
import { Capability, type DeepPartial, Modality, Model, ModelState, PriceVersion, Tokenizer } from '#proto/catalog/v1/catalog.js';
import type { AppError } from '#client/errors/app-error.js';
import { silentLog } from '#kit/testing/log.js';
import { type CatalogConfig, createCatalog } from '../index.js';

/** The context of the tests' calls. */
export const context = callContext({ caller: 'operator' });

/** Returns a valid model. */
export function exampleModel(fields: DeepPartial<Model> = {}): Model {
  return Model.fromPartial({
    id: 'acme/small',
    displayName: 'Acme Small',
    description: 'Small and quick.',
    provider: 'acme',
    contextLimitTokens: 32_000,
    outputLimitTokens: 4000,
    inputModalities: [Modality.MODALITY_TEXT, Modality.MODALITY_IMAGE],
    outputModalities: [Modality.MODALITY_TEXT],
    capabilities: [Capability.CAPABILITY_TOOLS],
    targets: [{ upstreamId: 'acme', upstreamModel: 'small-1' }],
    imageTokensMax: 1600,
    prefixAffinity: true,
    hedgeAfterMs: 2000,
    tokenizer: Tokenizer.TOKENIZER_O200K,
    state: ModelState.MODEL_STATE_ACTIVE,
    aliases: ['small'],
    ...fields,
  });
}

/** Returns a valid price of the example model, different in every unit price. */
export function examplePrice(fields: DeepPartial<PriceVersion> = {}): PriceVersion {
  return PriceVersion.fromPartial({
    modelId: 'acme/small',
    inputNanoUsdPerMtok: 1_000_000_000n,
    cacheReadNanoUsdPerMtok: 100_000_000n,
    cacheWrite5mNanoUsdPerMtok: 1_250_000_000n,
    cacheWrite1hNanoUsdPerMtok: 2_000_000_000n,
    outputNanoUsdPerMtok: 5_000_000_000n,
    ...fields,
  });
}

/** A logger that discards everything. */

/** Creates a catalog on this database, without the seed and with a short poll interval. */
export function exampleCatalog(db: Database, options: { clock?: Clock; config?: Partial<CatalogConfig>; auth?: AuditReceiver } = {}) {
  const config = { pollIntervalMs: 20, heartbeatIntervalMs: 1000, seed: false, ...options.config };
  return createCatalog(config, { db, clock: options.clock ?? new ManualClock(), log: silentLog, auth: options.auth ?? recordedAudit() });
}

/** Returns the reason and the details with which a call is refused. Raises an error when it is not. */
export async function refusal(call: Promise<unknown>): Promise<Pick<AppError, 'reason' | 'details'>> {
  const { reason, details } = await failureOf(call);
  return { reason, details };
}
