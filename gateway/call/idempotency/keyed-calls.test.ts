import { describe, expect, it } from '@jest/globals';
import { Key, KeyState } from '#proto/auth/v1/auth.js';
import { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { ApiFormat, Event, GenerateRequest, type GenerateResponse, StopReason } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Hold, type HoldRequest } from '#proto/ledger/v1/ledger.js';
import {
  type ReleaseIdempotencyKeyRequest,
  type ReserveIdempotencyKeyRequest,
  type ReserveIdempotencyKeyResponse,
  ReserveIdempotencyKeyResponse_Cause as Cause,
  Outcome,
  type RecordUsageRequest,
  UsageRecord,
} from '#proto/metering/v1/metering.js';
import { systemClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { createLogger } from '#kit/log.js';
import type { CallContext } from '#client/call-context.js';
import { createCheckpoints } from '../checkpoints.js';
import { gatewaySettings } from '../../config.js';
import type { CallDeps, CallStep } from '../metered-call.js';
import type { GatewayPeers } from '../../peers.js';
import { DisconnectDrain } from '../drain-after-disconnect.js';
import { createRecorder } from '../recorder.js';
import { fullSpool } from '../testing/full-spool.js';
import { createUnknownHolds } from '../unknown-holds.js';
import { createKeyedCalls, type KeyedCalls } from './keyed-calls.js';

const event = (value: object): Event => Event.fromPartial({ event: value } as Parameters<typeof Event.fromPartial>[0]);
const started = event({ $case: 'started', value: { target: { upstreamId: 'u', upstreamModel: 'm' } } });
const output = [
  event({ $case: 'blockStart', value: { index: 0, block: { $case: 'text', value: {} } } }),
  event({ $case: 'blockDelta', value: { index: 0, delta: { $case: 'text', value: 'hi' } } }),
];
const finished = event({
  $case: 'finished',
  value: { stopReason: StopReason.STOP_REASON_END, usage: { inputTokens: 10, outputTokens: 5 }, usageReported: true },
});
const batch = (...events: Event[]): GenerateResponse => ({
  events,
  usageSoFar: TokenCounts.fromPartial({ inputTokens: 10, outputTokens: 3 }),
});
const model = Model.fromPartial({ id: 'm', contextLimitTokens: 10_000, outputLimitTokens: 1000 });

/** The behaviour of the fake services; each function may throw. */
interface Play {
  begin?: (request: ReserveIdempotencyKeyRequest) => ReserveIdempotencyKeyResponse['result'];
  hold?: () => void;
  generate?: (context: CallContext) => AsyncIterable<GenerateResponse>;
  permitted?: string[];
  find?: () => Model;
}

/** Returns keyed calls over fake services, and what the fakes received. */
function world(play: Play = {}) {
  const seen = {
    begun: [] as ReserveIdempotencyKeyRequest[],
    abandoned: [] as ReleaseIdempotencyKeyRequest[],
    records: [] as RecordUsageRequest[],
    generated: 0,
  };
  const peers = {
    ledger: {
      async hold(request: HoldRequest) {
        play.hold?.();
        return { hold: Hold.fromPartial({ id: request.holdId, amountNanoUsd: request.amountNanoUsd }), replayed: false };
      },
      release: async () => ({ hold: undefined }),
    },
    metering: {
      async reserveIdempotencyKey(request: ReserveIdempotencyKeyRequest) {
        seen.begun.push(request);
        return { result: play.begin === undefined ? { $case: 'reserved', value: {} } : play.begin(request) };
      },
      async releaseIdempotencyKey(request: ReleaseIdempotencyKeyRequest) {
        seen.abandoned.push(request);
        return {};
      },
      async recordUsage(request: RecordUsageRequest) {
        seen.records.push(request);
        return {
          record: UsageRecord.fromPartial({ call: request.call!, tokens: request.tokens!, chargeNanoUsd: request.free ? 0n : 7n }),
          replayed: false,
        };
      },
    },
    inference: {
      async *generate(_request: GenerateRequest, context: CallContext) {
        seen.generated += 1;
        if (play.generate !== undefined) return yield* play.generate(context);
        yield batch(started, ...output);
        yield batch(finished);
      },
    },
  } as unknown as GatewayPeers;
  const config = parseSettings(gatewaySettings, {});
  const log = createLogger({ name: 'test', level: 'silent' });
  const price = PriceVersion.fromPartial({ id: newId('price'), inputNanoUsdPerMtok: 100_000_000n, outputNanoUsdPerMtok: 400_000_000n });
  const deps: CallDeps = {
    peers,
    models: {
      resolve: () => ({ model, price, targets: [{ upstreamId: 'u', upstreamModel: 'm' }] }),
      find: play.find ?? (() => model),
    } as unknown as CallDeps['models'],
    checkpoints: createCheckpoints({ metering: peers.metering, log, intervalMs: 1000, rpcTimeoutMs: 100 }),
    recorder: createRecorder(
      { metering: peers.metering, clock: systemClock, log, rpcTimeoutMs: 100, spoolAfterMs: 100, patienceMs: 300, persistenceMs: 600 },
      () => fullSpool,
    ),
    unknownHolds: createUnknownHolds({ ledger: peers.ledger, clock: systemClock, log, rpcTimeoutMs: 100, holdTtlMs: 1000 }),
    limiter: { admit: () => undefined },
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
  const calls = createKeyedCalls(deps);
  const begin = (streaming = true): ReturnType<KeyedCalls['begin']> =>
    calls.begin(
      {
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
      },
      { key: 'order-1', endpoint: 'messages', fingerprint: Buffer.alloc(32, 1) },
    );
  return { calls, begin, seen };
}

async function read(steps: AsyncIterable<CallStep>): Promise<{ kinds: string[]; events: Event[]; error?: AppError }> {
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

const refusalOf = (call: Promise<unknown>): Promise<AppError> =>
  call.then(
    () => Promise.reject(new Error('The call was admitted.')),
    (error: AppError) => error,
  );

describe('a call with an idempotency key', () => {
  it('stores its answer with its record, and a repeat gets the same steps', async () => {
    const first = world();
    const { steps, callId } = await first.begin();
    const told = await read(steps);
    expect(told.kinds).toEqual(['admitted', 'events', 'events', 'recorded']);
    const [recorded] = first.seen.records;
    expect(recorded!.call).toMatchObject({ id: callId, idempotencyKeyHash: first.seen.begun[0]!.keyHash });
    expect([first.calls.count(), first.seen.abandoned]).toEqual([0, []]);

    const record = UsageRecord.fromPartial({ call: recorded!.call!, tokens: recorded!.tokens! });
    const second = world({ begin: () => ({ $case: 'completed', value: { record, answer: recorded!.storedAnswer } }) });
    const again = await second.begin();
    expect(again.callId).toBe(callId);
    expect(await read(again.steps)).toMatchObject({ events: told.events });
    expect(second.seen).toMatchObject({ generated: 0, records: [] });
  });

  it('releases its key when it is rejected before a model was called', async () => {
    const { begin, seen } = world({
      hold: () => {
        throw new AppError('balance_empty', 'Empty.');
      },
    });
    const { steps, callId } = await begin();
    expect((await read(steps)).error?.reason).toBe('balance_empty');
    expect(seen.abandoned).toEqual([expect.objectContaining({ callId, keyHash: seen.begun[0]!.keyHash })]);
  });

  it.each<[boolean, string, number]>([
    [true, 'with what was delivered and the error', 1],
    [false, 'without an answer, for nothing was delivered', 0],
  ])('that breaks off (stream: %s) is recorded %s', async (streaming, _what, answers) => {
    const { begin, seen } = world({
      async *generate() {
        yield batch(started, ...output);
        throw new AppError('upstream_failed', 'It broke.');
      },
    });
    expect((await read((await begin(streaming)).steps)).error?.reason).toBe('upstream_failed');
    expect(seen.abandoned).toEqual([]);
    expect(seen.records).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT, free: !streaming })]);
    expect(seen.records.filter(({ storedAnswer }) => storedAnswer.length > 0)).toHaveLength(answers);
  });

  it('is not admitted while metering cannot tell whether its key was used, and leaves no reservation', async () => {
    const { begin, seen } = world({
      begin: () => {
        throw new AppError('service_unavailable', 'Away.');
      },
    });
    expect(await refusalOf(begin())).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 2000 });
    expect([seen.generated, seen.abandoned.length]).toEqual([0, 1]);
  });

  it.each<[string, NonNullable<ReserveIdempotencyKeyResponse['result']>, object]>([
    ['another request had', { $case: 'mismatch', value: { callId: 'req_1' } }, { reason: 'idempotency_mismatch' }],
    ['a running call has', { $case: 'inProgress', value: { callId: 'req_1' } }, { reason: 'idempotency_in_progress', retryAfterMs: 2000 }],
    [
      'a call without a kept answer had',
      { $case: 'answerUnavailable', value: { callId: 'req_1', cause: Cause.CAUSE_TOO_LARGE } },
      { reason: 'idempotency_answer_gone' },
    ],
  ])('is rejected with a key that %s', async (_who, outcome, refusal) => {
    const { begin, seen } = world({ begin: () => outcome });
    expect(await refusalOf(begin())).toMatchObject({ ...refusal, details: { field: 'idempotency-key', original_request_id: 'req_1' } });
    expect([seen.generated, seen.abandoned]).toEqual([0, []]);
  });

  it('gets no stored answer of a model that its platform key may not use, but does of a removed model', async () => {
    const forbidden = world({ permitted: ['other'] });
    expect((await refusalOf(forbidden.begin())).reason).toBe('model_not_permitted');
    expect(forbidden.seen.begun).toEqual([]);
    const withdrawn = world({
      find: () => {
        throw new AppError('model_unknown', 'Gone.');
      },
      begin: () => ({ $case: 'inProgress', value: { callId: 'req_1' } }),
    });
    expect((await refusalOf(withdrawn.begin())).reason).toBe('idempotency_in_progress');
  });

  it.each([true, false])('is a gateway error when the gateway stops in the middle (stream: %s)', async (streaming) => {
    const { begin, seen, calls } = world({
      async *generate(context) {
        yield batch(started, ...output);
        await new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason as Error)));
      },
    });
    const { steps } = await begin(streaming);
    const reading = read(steps);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(calls.count()).toBe(1);
    calls.stop();
    expect((await reading).error?.reason).toBe('service_unavailable');
    expect(seen.records).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: !streaming })]);
    expect(calls.count()).toBe(0);
  });
});
