// A gateway's calls over fake services, for unit tests.
import { Key, KeyState } from '#proto/auth/v1/auth.js';
import { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { ApiFormat, Event, GenerateRequest, type GenerateResponse, StopReason } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Hold, type HoldRequest } from '#proto/ledger/v1/ledger.js';
import { type RecordUsageRequest, UsageRecord } from '#proto/metering/v1/metering.js';
import { systemClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { abortError, type AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { silentLog as log } from '#kit/testing/log.js';
import { BudgetFallbacks } from '../admission/budget-fallback.js';
import { createCheckpoints } from '../recording/checkpoints.js';
import { gatewaySettings } from '../../config.js';
import type { CallDeps, CallRequest, CallStep } from '../metered-call.js';
import type { GatewayPeers } from '../../peers.js';
import { DisconnectDrain } from '../response/drain-after-disconnect.js';
import { createRecorder } from '../recording/recorder.js';
import { createUnknownHolds } from '../admission/unknown-holds.js';
import { fullSpool } from './full-spool.js';

const event = (value: object): Event => Event.fromPartial({ event: value } as Parameters<typeof Event.fromPartial>[0]);
/** The first event of an answer. */
export const started = event({ $case: 'started', value: { target: { upstreamId: 'u', upstreamModel: 'm' } } });
/** The text of an answer. */
export const output = [
  event({ $case: 'blockStart', value: { index: 0, block: { $case: 'text', value: {} } } }),
  event({ $case: 'blockDelta', value: { index: 0, delta: { $case: 'text', value: 'hi' } } }),
];
/** The last event of an answer. */
export const finished = event({
  $case: 'finished',
  value: { stopReason: StopReason.STOP_REASON_END, usage: { inputTokens: 10, outputTokens: 5 }, usageReported: true },
});
/** Returns these events with the usage so far. */
export const batch = (...events: Event[]): GenerateResponse => ({
  events,
  usageSoFar: TokenCounts.fromPartial({ inputTokens: 10, outputTokens: 3 }),
});
const model = Model.fromPartial({ id: 'm', contextLimitTokens: 10_000, outputLimitTokens: 1000 });

/** The behaviour of the fake services; each function may throw. */
export interface Play {
  hold?: () => void | Promise<void>;
  generate?: (context: CallContext) => AsyncIterable<GenerateResponse>;
  record?: (request: RecordUsageRequest) => Promise<void>;
  permitted?: string[];
  limiter?: Partial<CallDeps['limiter']>;
  find?: () => Model;
  /** Further RPCs of metering. */
  metering?: Partial<GatewayPeers['metering']>;
  /** Settings that differ from the defaults. */
  settings?: Readonly<Record<string, string>>;
}

/** Returns the dependencies of calls, what the fake services received, and requests of one key. */
export function callWorld(play: Play = {}) {
  const seen = { records: [] as RecordUsageRequest[], generated: 0 };
  const peers = {
    ledger: {
      async hold(request: HoldRequest) {
        await play.hold?.();
        return { hold: Hold.fromPartial({ id: request.holdId, amountNanoUsd: request.amountNanoUsd }), replayed: false };
      },
      release: async () => ({ hold: undefined }),
    },
    metering: {
      async recordUsage(request: RecordUsageRequest) {
        await play.record?.(request);
        seen.records.push(request);
        return {
          record: UsageRecord.fromPartial({ call: request.call!, tokens: request.tokens!, chargeNanoUsd: request.free ? 0n : 7n }),
          replayed: false,
        };
      },
      ...play.metering,
    },
    inference: {
      async *generate(_request: GenerateRequest, context: CallContext) {
        // As every client of a service does.
        if (context.signal.aborted) throw abortError(context.signal);
        seen.generated += 1;
        if (play.generate !== undefined) return yield* play.generate(context);
        yield batch(started, ...output);
        yield batch(finished);
      },
      countUsage: async () => ({ usage: TokenCounts.fromPartial({ inputTokens: 10, outputTokens: 3 }) }),
    },
  } as unknown as GatewayPeers;
  const config = parseSettings(gatewaySettings, play.settings ?? {});
  const price = PriceVersion.fromPartial({ id: newId('price'), inputNanoUsdPerMtok: 100_000_000n, outputNanoUsdPerMtok: 400_000_000n });
  const models = {
    resolve: () => ({ model, price, targets: [{ upstreamId: 'u', upstreamModel: 'm' }] }),
    find: play.find ?? (() => model),
  } as unknown as CallDeps['models'];
  const deps: CallDeps = {
    peers,
    models,
    fallbacks: new BudgetFallbacks(models),
    checkpoints: createCheckpoints({ metering: peers.metering, log, intervalMs: 1000, rpcTimeoutMs: 100 }),
    recorder: createRecorder(
      { metering: peers.metering, clock: systemClock, log, rpcTimeoutMs: 100, spoolAfterMs: 100, patienceMs: 300, persistenceMs: 600 },
      () => fullSpool,
    ),
    unknownHolds: createUnknownHolds({ ledger: peers.ledger, clock: systemClock, log, rpcTimeoutMs: 100, holdTtlMs: 1000 }),
    limiter: {
      admit: () => undefined,
      admitReplay: async () => undefined,
      admitCount: async () => undefined,
      admitManagement: async () => undefined,
      ...play.limiter,
    },
    drain: new DisconnectDrain(config),
    config,
    clock: systemClock,
    log,
  };
  const key = Key.fromPartial({
    id: newId('key'),
    accountId: newId('acct'),
    state: KeyState.KEY_STATE_ACTIVE,
    models: { allModels: play.permitted === undefined, modelIds: play.permitted ?? [] },
  });
  const request = (streaming = true): Omit<CallRequest, 'disconnected'> => ({
    id: newId('req'),
    key,
    format: ApiFormat.API_FORMAT_MESSAGES,
    parsed: {
      model: 'm',
      streaming,
      maxOutputTokens: 100,
      request: GenerateRequest.fromPartial({}),
      includeUsage: false,
      inputTokensMax: 50,
      images: 0,
      documents: 0,
      needs: [],
      droppedFields: [],
    },
    clientRequestId: '',
  });
  return { deps, seen, request };
}

/** Reads a call to its end. */
export async function read(steps: AsyncIterable<CallStep>): Promise<{ kinds: string[]; events: Event[]; error?: AppError }> {
  const kinds: string[] = [];
  const events: Event[] = [];
  try {
    for await (const step of steps) {
      kinds.push(step.kind);
      if (step.kind === 'events') events.push(...step.events);
    }
    return { kinds, events };
  } catch (error) {
    return { kinds, events, error: error as AppError };
  }
}
