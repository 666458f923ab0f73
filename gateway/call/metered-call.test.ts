import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Key, KeyState } from '#proto/auth/v1/auth.js';
import { Budget } from '#proto/budget/v1/budget.js';
import type { ModalityNeed } from '../formats/format.js';
import { Capability, Modality, Model, PriceVersion, type UnitPrice } from '#proto/catalog/v1/catalog.js';
import {
  ApiFormat,
  type CountUsageRequest,
  EmbeddingOptions,
  Event,
  FailedAttempt,
  GenerateRequest,
  type GenerateResponse,
  type NativeRequest_VendorTool as VendorTool,
  ResponseFormat,
  StopReason,
} from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Hold, type HoldRequest, type ReleaseRequest } from '#proto/ledger/v1/ledger.js';
import {
  type CheckpointUsageRequest,
  Outcome,
  type RecordUsageRequest,
  ResponseStorage,
  type StoredResponse,
  UsageRecord,
  UsageSource,
} from '#proto/metering/v1/metering.js';
import { type Clock, ManualClock, systemClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { silentLog as log } from '#kit/testing/log.js';
import { BudgetFallbacks } from './admission/budget-fallback.js';
import { createCheckpoints } from './recording/checkpoints.js';
import { gatewaySettings } from '../config.js';
import { type AnswerSink, type CallRequest, type CallStep, meteredCall } from './metered-call.js';
import type { GatewayPeers } from '../peers.js';
import { DisconnectDrain } from './response/drain-after-disconnect.js';
import { createRecorder } from './recording/recorder.js';
import { fullSpool } from './testing/full-spool.js';
import { createUnknownHolds } from './admission/unknown-holds.js';
import type { Limiter } from '../limits/limiter.js';

type Script = (request: GenerateRequest, context: CallContext) => AsyncIterable<GenerateResponse>;

const started: Event = Event.fromPartial({
  event: { $case: 'started', value: { target: { upstreamId: 'second', upstreamModel: 'real-name' } } },
});
const blockStart: Event = Event.fromPartial({ event: { $case: 'blockStart', value: { index: 0, block: { $case: 'text', value: {} } } } });
const delta: Event = Event.fromPartial({ event: { $case: 'blockDelta', value: { index: 0, delta: { $case: 'text', value: 'hi' } } } });
const finished = (fields: object = {}): Event =>
  Event.fromPartial({
    event: {
      $case: 'finished',
      value: { stopReason: StopReason.STOP_REASON_END, usage: { inputTokens: 10, outputTokens: 5 }, usageReported: true, ...fields },
    },
  });
const batch = (events: Event[], outputTokens = 0): GenerateResponse => ({
  events,
  usageSoFar: TokenCounts.fromPartial({ inputTokens: 10, outputTokens }),
});

interface World {
  steps: CallStep[];
  holds: HoldRequest[];
  releases: ReleaseRequest[];
  records: RecordUsageRequest[];
  generated: GenerateRequest[];
  counted: CountUsageRequest[];
  /** The usage in each checkpoint. */
  checkpoints: TokenCounts[];
  /** Returns the number of calls that are checkpointed. */
  inFlight: () => number;
}

interface Play {
  script?: Script;
  disconnected?: AbortSignal;
  /** The consumer stops reading after this many steps. */
  readSteps?: number;
  hold?: (request: HoldRequest) => bigint;
  /** The ledger reports the hold provisionally, and returns it once this has resolved. */
  sync?: (world: World) => Promise<void>;
  /** What the tokenizer counts; undefined if inference is unavailable. */
  count?: Partial<TokenCounts>;
  record?: (attempt: number, checkpointsSent: number) => void;
  maxOutputTokens?: number | undefined;
  streaming?: boolean;
  /** Metering reports the call as closed, this long after its start. */
  closesAfterMs?: number;
  onCheckpoint?: () => void;
  /** How often the usage so far is checkpointed. */
  checkpointMs?: number;
  /** No call can be recorded. */
  isRecordingUnavailable?: boolean;
  permitted?: string[];
  needs?: ModalityNeed[];
  responseFormat?: ResponseFormat;
  choices?: number;
  vendorTools?: VendorTool[];
  unitPrices?: UnitPrice[];
  format?: ApiFormat;
  limiter?: Pick<Limiter, 'admit'>;
  budgets?: Budget[];
  accountTimeZone?: string;
  capabilities?: Capability[];
  /** Returns the input price that is in force at an instant, in nano-USD per million tokens. */
  inputPriceAt?: (atMs: number) => bigint;
  clock?: Clock;
  /** The call has two targets, the second of which may be tried when the first is late. */
  hedgeAfterMs?: number;
  /** How an answer is drained after its client has disconnected. */
  drain?: Partial<ConstructorParameters<typeof DisconnectDrain>[0]>;
  /** The ledger leaves it to the record to write the hold. */
  unwritten?: boolean;
  prefixAffinity?: boolean;
  embedding?: GenerateRequest['embedding'];
  /** Further fields of the request. */
  more?: Partial<CallRequest>;
}

const happy: Script = async function* () {
  yield batch([started]);
  yield batch([blockStart, delta], 3);
  yield batch([finished()], 5);
};

/** Runs one call against fakes of the services and returns what each of them saw. */
async function play(options: Play = {}): Promise<World & { error?: AppError }> {
  const world: World = {
    steps: [],
    holds: [],
    releases: [],
    records: [],
    generated: [],
    counted: [],
    checkpoints: [],
    inFlight: () => checkpoints.count(),
  };
  const config = parseSettings(gatewaySettings, {});
  let recordAttempts = 0;
  const peers = {
    ledger: {
      async hold(request: HoldRequest, context: CallContext) {
        world.holds.push(request);
        const response = {
          hold: Hold.fromPartial({ id: request.holdId, amountNanoUsd: options.hold?.(request) ?? request.amountNanoUsd }),
          replayed: false,
          unwritten: options.unwritten,
        };
        if (options.sync !== undefined) {
          context.onProvisional?.(response);
          await options.sync(world);
        }
        return response;
      },
      async release(request: ReleaseRequest) {
        world.releases.push(request);
        return { hold: undefined };
      },
    },
    metering: {
      async recordUsage(request: RecordUsageRequest) {
        recordAttempts += 1;
        options.record?.(recordAttempts, world.checkpoints.length);
        world.records.push(request);
        return {
          record: UsageRecord.fromPartial({ call: request.call!, tokens: request.tokens!, outcome: request.outcome }),
          replayed: false,
        };
      },
      async checkpointUsage({ items }: CheckpointUsageRequest) {
        for (const { tokens } of items) world.checkpoints.push(tokens!);
        options.onCheckpoint?.();
        return { open: items.map(() => options.closesAfterMs === undefined) };
      },
    },
    inference: {
      generate(request: GenerateRequest, context: CallContext) {
        world.generated.push(request);
        return (options.script ?? happy)(request, context);
      },
      async countUsage(request: CountUsageRequest) {
        world.counted.push(request);
        if (options.count === undefined) throw new AppError('service_unavailable', 'Unavailable.');
        return { usage: TokenCounts.fromPartial(options.count) };
      },
    },
  } as unknown as GatewayPeers;
  const model = Model.fromPartial({
    id: 'sandbox/echo',
    contextLimitTokens: 10_000,
    outputLimitTokens: 1000,
    capabilities: options.capabilities ?? [],
    hedgeAfterMs: options.hedgeAfterMs,
    prefixAffinity: options.prefixAffinity,
    outputModalities: options.embedding === undefined ? [] : [Modality.MODALITY_EMBEDDING],
  });
  const targets = ['first', ...(options.hedgeAfterMs === undefined ? [] : ['second'])];
  const clock = options.clock ?? systemClock;
  const priceAt = (atMs: number): PriceVersion =>
    PriceVersion.fromPartial({
      id: newId('price'),
      inputNanoUsdPerMtok: options.inputPriceAt?.(atMs) ?? 100_000_000n,
      outputNanoUsdPerMtok: 400_000_000n,
      units: options.unitPrices ?? [],
    });
  const patience = { rpcTimeoutMs: 100, spoolAfterMs: 0, patienceMs: 300, persistenceMs: 600 };
  const recorder = createRecorder({ metering: peers.metering, clock: systemClock, log, ...patience }, () => fullSpool);
  const checkpoints = createCheckpoints({
    metering: peers.metering,
    log,
    intervalMs: options.closesAfterMs ?? options.checkpointMs ?? 1000,
    rpcTimeoutMs: 100,
  });
  if (options.closesAfterMs !== undefined || options.checkpointMs !== undefined) await checkpoints.start();
  const steps = meteredCall(
    {
      id: newId('req'),
      key: Key.fromPartial({
        id: newId('key'),
        accountId: newId('acct'),
        state: KeyState.KEY_STATE_ACTIVE,
        version: 7n,
        lifetimeLimitNanoUsd: 5n,
        models: { allModels: options.permitted === undefined, modelIds: options.permitted ?? [] },
      }),
      budgets: options.budgets,
      accountTimeZone: options.accountTimeZone,
      format: options.format ?? ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
      parsed: {
        model: 'sandbox/echo',
        streaming: options.streaming ?? true,
        maxOutputTokens: 'maxOutputTokens' in options ? options.maxOutputTokens : 100,
        request: GenerateRequest.fromPartial({
          responseFormat: options.responseFormat,
          choices: options.choices ?? 0,
          native: { vendorTools: options.vendorTools ?? [] },
          embedding: options.embedding,
        }),
        includeUsage: false,
        inputTokensMax: 50,
        images: 0,
        documents: 0,
        needs: options.needs ?? [],
        droppedFields: [],
      },
      clientRequestId: '',
      disconnected: options.disconnected ?? new AbortController().signal,
      ...options.more,
    },
    {
      peers,
      models: {
        resolve: (_name: string, atMs = clock.nowMs()) => ({
          model,
          price: priceAt(atMs),
          targets: targets.map((upstreamId) => ({ upstreamId, upstreamModel: 'x' })),
        }),
      } as unknown as Parameters<typeof meteredCall>[1]['models'],
      checkpoints,
      recorder: options.isRecordingUnavailable === true ? { ...recorder, assertRecording: refuse } : recorder,
      drain: new DisconnectDrain({ readOnTimeMs: 30, readOnTokensMax: 10, readOnCallsMax: 1, ...options.drain }),
      unknownHolds: createUnknownHolds({ ledger: peers.ledger, clock: systemClock, log, rpcTimeoutMs: 100, holdTtlMs: 1000 }),
      limiter: {
        admit: () => undefined,
        admitReplay: async () => undefined,
        admitCount: async () => undefined,
        admitManagement: async () => undefined,
        ...options.limiter,
      },
      fallbacks: new BudgetFallbacks({ resolve: refuse }),
      config,
      clock,
      log,
    },
  );
  try {
    for await (const step of steps) {
      world.steps.push(step);
      if (world.steps.length === options.readSteps) break;
    }
    return world;
  } catch (error) {
    return { ...world, error: error as AppError };
  } finally {
    await checkpoints.stop();
  }
}

const refuse = (): never => {
  throw new AppError('service_unavailable', 'Nothing can be recorded now.');
};

const failing = (before: GenerateResponse[], reason: ConstructorParameters<typeof AppError>[0]): Script =>
  async function* () {
    yield* before;
    throw new AppError(reason, 'no');
  };

const accepted: GenerateResponse = { ...batch([]), accepted: { target: { upstreamId: 'second', upstreamModel: 'real-name' } } };

describe('a metered call', () => {
  it('holds the worst case, generates, and records the usage before it sends the end', async () => {
    const { steps, holds, records, generated, inFlight } = await play();
    expect(steps.map((step) => step.kind)).toEqual(['admitted', 'events', 'events', 'events', 'recorded']);
    expect(holds[0]).toMatchObject({ keyLimit: { limitNanoUsd: 5n, version: 7n } });
    expect(generated[0]?.maxOutputTokens).toBe(100);
    expect(records).toHaveLength(1);
    await untilTrue(() => inFlight() === 0);
    expect(inFlight()).toBe(0);
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_COMPLETED,
      source: UsageSource.USAGE_SOURCE_REPORTED,
      free: false,
      tokens: { inputTokens: 10, outputTokens: 5 },
      call: { upstreamId: 'second', upstreamModel: 'real-name', heldNanoUsd: holds[0]!.amountNanoUsd },
    });
  });

  it('is admitted by the rate limits before money is held, and counts with its usage when it ends', async () => {
    const used: (number | undefined)[] = [];
    const limiter = {
      admit: (_call: unknown, modelId: string) => ({ end: (tokens: number | undefined) => void used.push(tokens), modelId }),
    };
    await play({ limiter });
    expect(used).toEqual([15]);
    const refused = await play({
      limiter: {
        admit: () => {
          throw new AppError('rate_limited', 'No.');
        },
      },
    });
    expect([refused.error?.reason, refused.holds]).toEqual(['rate_limited', []]);
  });

  it('gives its estimated tokens back when no money can be held for it, and when the upstream fails', async () => {
    const used: (number | undefined)[] = [];
    const limiter = { admit: () => ({ end: (tokens: number | undefined) => void used.push(tokens) }) };
    const poor = (): never => {
      throw new AppError('balance_empty', 'No.');
    };
    expect((await play({ limiter, hold: poor })).error?.reason).toBe('balance_empty');
    expect((await play({ limiter, script: failing([], 'upstream_failed') })).error?.reason).toBe('upstream_failed');
    expect(used).toEqual([0, 0]);
  });

  it('lasts as long as it took, even if the time of day is set meanwhile', async () => {
    const clock = new ManualClock();
    const { records } = await play({
      clock,
      script: async function* () {
        clock.advance(20);
        clock.step(-3_600_000);
        yield batch([started]);
        yield batch([blockStart, delta], 3);
        clock.advance(30);
        clock.step(7_200_000);
        yield batch([finished()], 5);
      },
    });
    expect(records).toMatchObject([{ firstOutputMs: 20, durationMs: 50 }]);
  });

  it('is charged at the price in force at the start on its record', async () => {
    // Time passes between any two readings.
    let nowMs = 1_000_000;
    const clock: Clock = { ...systemClock, nowMs: () => (nowMs += 1000) };
    const { records } = await play({ clock, inputPriceAt: BigInt });
    const { price, startedAtMs } = records[0]!.call!;
    expect(price!.inputNanoUsdPerMtok).toBe(startedAtMs);
  });

  it('holds and records the cap of all parallel answers together, and sends upstream the cap of each', async () => {
    const one = await play();
    const three = await play({ choices: 3 });
    const outputNanoUsd = (100n * 400_000_000n) / 1_000_000n;
    expect(three.holds[0]!.amountNanoUsd - one.holds[0]!.amountNanoUsd).toBe(2n * outputNanoUsd);
    expect(three.records[0]?.call?.outputCapTokens).toBe(300);
    expect(three.generated[0]?.maxOutputTokens).toBe(100);
    expect(three.steps[0]).toMatchObject({ kind: 'admitted', outputCapTokens: 100 });
  });

  it('sends upstream the cap that the granted hold pays for when the caller gave none', async () => {
    const { steps, generated } = await play({ maxOutputTokens: undefined, hold: (request) => request.minAmountNanoUsd });
    expect(generated[0]?.maxOutputTokens).toBe(256);
    expect(steps[0]).toMatchObject({ kind: 'admitted', outputCapTokens: 256 });
  });

  it('omits an optional search when the balance does not cover it', async () => {
    const unitPrices = [{ unit: 'web_search', nanoUsd: 10_000_000n, maxPerCall: 3 }];
    const search: VendorTool = {
      field: 'tools[0].type',
      type: 'web_search',
      unit: 'web_search',
      optionalToolJson: '{"type":"web_search"}',
    };
    const capsWith = async (vendorTools: VendorTool[], available: bigint) => {
      const { error, generated } = await play({
        unitPrices,
        vendorTools,
        hold({ amountNanoUsd }) {
          if (amountNanoUsd > available) throw new AppError('balance_empty', 'Too low.');
          return amountNanoUsd;
        },
      });
      return error?.reason ?? generated[0]?.unitCaps?.counts ?? [];
    };
    const { error, holds } = await play({
      unitPrices,
      vendorTools: [search],
      hold() {
        throw new AppError('overloaded', 'Later.');
      },
    });
    expect([error?.reason, holds.length]).toEqual(['overloaded', 1]);
    const counts = [{ unit: 'web_search', count: 3 }];
    expect(await capsWith([search], 100_000_000n)).toEqual(counts);
    expect(await capsWith([search], 1_000_000n)).toEqual([]);
    expect(await capsWith([search], 0n)).toBe('balance_empty');
    expect(await capsWith([{ ...search, optionalToolJson: undefined }], 1_000_000n)).toBe('balance_empty');
  });

  it('calls no upstream when the key may not use the model', async () => {
    const { error, holds, generated } = await play({ permitted: ['other'] });
    expect(error?.reason).toBe('model_not_permitted');
    expect([holds.length, generated.length]).toEqual([0, 0]);
  });

  it('calls no upstream when the model cannot read all content of the body', async () => {
    const { error, holds, generated } = await play({ needs: [{ modality: Modality.MODALITY_IMAGE, field: 'messages[0].content[1]' }] });
    expect(error).toMatchObject({ reason: 'unsupported_field', details: { field: 'messages[0].content[1]' } });
    expect(error?.message).toContain('does not read images');
    expect([holds.length, generated.length]).toEqual([0, 0]);
  });

  it.each([
    [ApiFormat.API_FORMAT_CHAT_COMPLETIONS, 'response_format'],
    [ApiFormat.API_FORMAT_MESSAGES, 'output_config.format'],
  ])('calls no upstream when the answer must follow a schema and the model does not support schemas (format %i)', async (format, field) => {
    const responseFormat = ResponseFormat.fromPartial({ format: { $case: 'jsonSchema', value: { name: 'a', schemaJson: '{}' } } });
    const { error, holds, generated } = await play({ format, responseFormat });
    expect(error).toMatchObject({ reason: 'unsupported_field', details: { field } });
    expect([holds.length, generated.length]).toEqual([0, 0]);
    expect((await play({ format, responseFormat, capabilities: [Capability.CAPABILITY_STRUCTURED_OUTPUT] })).generated).toHaveLength(1);
    expect((await play({ format, responseFormat: { format: { $case: 'jsonObject', value: {} } } })).generated).toHaveLength(1);
  });

  it('holds against the budgets of the key, in the time zone of its account', async () => {
    const budgets = [Budget.fromPartial({ id: newId('bud'), limitNanoUsd: 7n, version: 1n })];
    expect((await play({ budgets, accountTimeZone: 'Asia/Shanghai' })).holds[0]).toMatchObject({ budgets, timeZone: 'Asia/Shanghai' });
    expect((await play()).holds[0]).toMatchObject({ budgets: [], timeZone: '' });
  });

  it.each(['balance_empty', 'budget_reached'] as const)(
    'calls no upstream after %s, and returns what would be affordable',
    async (reason) => {
      const { error, generated, records } = await play({
        hold: () => {
          throw new AppError(reason, 'Empty.', { details: { available_nano_usd: '20000', resets_at: '2026-12-01T00:00:00+08:00' } });
        },
      });
      expect(error?.reason).toBe(reason);
      expect(error?.details['resets_at']).toBe('2026-12-01T00:00:00+08:00');
      expect(Number(error?.details['affordable_output_tokens'])).toBeGreaterThan(0);
      expect([generated.length, records.length]).toEqual([0, 0]);
    },
  );

  it('releases a hold whose response was lost, and rejects the call', async () => {
    const { error, releases, generated, holds } = await play({
      hold: () => {
        throw new AppError('deadline_exceeded', 'Late.');
      },
    });
    expect(error).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 2000 });
    expect(releases.map((release) => release.holdId)).toEqual([holds[0]!.holdId]);
    expect(generated).toHaveLength(0);
  });

  it('calls the upstream while the hold is being synced, and takes no step before the hold is durable', async () => {
    let before: Partial<World> = {};
    const sync = async (world: World): Promise<void> => {
      // Long enough for the whole answer and for checkpoints.
      await sleep(30);
      before = { ...world, steps: [...world.steps], records: [...world.records], checkpoints: [...world.checkpoints] };
    };
    const { steps, records } = await play({ sync, checkpointMs: 2 });
    expect(before).toMatchObject({ generated: [expect.anything()], steps: [], records: [], checkpoints: [] });
    expect(steps.map((step) => step.kind)).toEqual(['admitted', 'events', 'events', 'events', 'recorded']);
    expect(records).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_COMPLETED, free: false })]);
  });

  it.each([true, false])(
    'lets the hold be written with the record only if nothing of the answer is shown before (streaming: %s)',
    async (streaming) => {
      const { holds } = await play({ streaming });
      expect(holds.map(({ durableWithRecord }) => durableWithRecord)).toEqual([!streaming]);
    },
  );

  it('reports an upstream error to its caller only when the hold is durable', async () => {
    let failedAt = 0;
    let durableAt = 0;
    const { error, records } = await play({
      // eslint-disable-next-line require-yield
      script: async function* () {
        failedAt = performance.now();
        throw new AppError('upstream_rejected', 'no');
      },
      sync: async () => {
        await sleep(10);
        durableAt = performance.now();
      },
    });
    expect(error?.reason).toBe('upstream_rejected');
    expect(durableAt).toBeGreaterThan(failedAt);
    expect(records).toEqual([expect.objectContaining({ free: true })]);
  });

  it.each<[string, Script]>([
    [
      'before the upstream answers',
      async function* (_request, { signal }) {
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        yield batch([started]);
      },
    ],
    ['after the upstream has answered', happy],
  ])('cancels the upstream, charges nothing and releases the hold when its sync fails %s', async (_when, script) => {
    let upstreamSignal: AbortSignal | undefined;
    let hasEnded = false;
    const used: (number | undefined)[] = [];
    const { error, steps, records, releases, holds } = await play({
      limiter: { admit: () => ({ end: (tokens: number | undefined) => void used.push(tokens) }) },
      async *script(request, context) {
        upstreamSignal = context.signal;
        try {
          yield* script(request, context);
        } finally {
          hasEnded = true;
        }
      },
      sync: async () => {
        await sleep(10);
        throw new AppError('service_unavailable', 'The disk failed.');
      },
    });
    expect(error).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 2000 });
    expect(upstreamSignal?.aborted).toBe(true);
    await untilTrue(() => hasEnded);
    expect(hasEnded).toBe(true);
    expect([steps, records, used]).toEqual([[], [], [0]]);
    expect(releases.map((release) => release.holdId)).toEqual([holds[0]!.holdId]);
  });

  it('records nothing charged when the client disconnects while the hold is being synced', async () => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      script: (_request, { signal }) =>
        failing([], signal.aborted ? 'cancelled' : 'internal')(_request, callContext({ caller: 'gateway' })),
      hold: (request) => {
        disconnected.abort();
        return request.amountNanoUsd;
      },
      sync: () => sleep(10),
    });
    expect(records).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: true })]);
  });

  it.each([
    [true, false],
    [false, false],
    [true, true],
  ])(
    'records nothing charged when a retry of the client runs as a new call, though the upstream was at work before the hold was durable (streaming: %s, finished: %s)',
    async (streaming, isFinished) => {
      const disconnected = new AbortController();
      const answerSink: AnswerSink = {
        isUndelivered: true,
        begin: () => undefined,
        take: () => undefined,
        restart: () => undefined,
        answer: async () => Buffer.alloc(0),
        end: () => undefined,
      };
      const { records } = await play({
        streaming,
        disconnected: disconnected.signal,
        more: { answerSink },
        async *script(_request, { signal }) {
          yield isFinished ? batch([started, blockStart, delta, finished()], 5) : accepted;
          if (signal.aborted) throw signal.reason;
          await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
        async sync() {
          await sleep(10);
          disconnected.abort();
          await sleep(10);
        },
      });
      expect(records).toEqual([expect.objectContaining({ free: true })]);
    },
  );

  it.each([
    ['before the first event', false],
    ['when the first event has arrived', true],
  ])('cancels the upstream when its consumer stops reading %s', async (_when, hasAnswered) => {
    let upstreamSignal: AbortSignal | undefined;
    let hasEnded = false;
    const { records } = await play({
      readSteps: 1,
      script: async function* (_request, { signal }) {
        upstreamSignal = signal;
        try {
          if (!hasAnswered) await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
          yield batch([started]);
        } finally {
          hasEnded = true;
        }
      },
    });
    expect(upstreamSignal?.aborted).toBe(true);
    await untilTrue(() => hasEnded);
    expect(hasEnded).toBe(true);
    expect(records).toEqual([expect.objectContaining({ free: true })]);
  });

  it.each<[string, Script, Partial<RecordUsageRequest>]>([
    [
      'an upstream error before output is free',
      failing([batch([started])], 'upstream_failed'),
      { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, free: true },
    ],
    [
      'a request that the upstream rejects is free',
      failing([], 'upstream_rejected'),
      { outcome: Outcome.OUTCOME_REJECTED, free: true, outcomeDetail: 'upstream_rejected' },
    ],
    [
      'a request that the model cannot serve is free, and not a gateway error',
      failing([], 'unsupported_field'),
      { outcome: Outcome.OUTCOME_REJECTED, free: true, outcomeDetail: 'unsupported_field' },
    ],
    [
      'an upstream error after output is charged',
      failing([batch([started, blockStart, delta], 3)], 'upstream_failed'),
      { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT, free: false, source: UsageSource.USAGE_SOURCE_ESTIMATED },
    ],
    ['a timeout before output is free', failing([batch([started])], 'upstream_timeout'), { outcome: Outcome.OUTCOME_TIMEOUT, free: true }],
    [
      'a timeout after output is charged',
      failing([batch([blockStart, delta], 3)], 'upstream_timeout'),
      { outcome: Outcome.OUTCOME_TIMEOUT, free: false },
    ],
    ['a fault of ours before output is free', failing([], 'internal'), { outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true }],
  ])('%s', async (_name, script, expected) => {
    const { error, records } = await play({ script });
    expect(error).toBeInstanceOf(AppError);
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject(expected);
  });

  it.each<[string, AppError['reason'], Outcome]>([
    ['an upstream error', 'upstream_failed', Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT],
    ['a timeout', 'upstream_timeout', Outcome.OUTCOME_TIMEOUT],
    ['a fault of ours', 'internal', Outcome.OUTCOME_GATEWAY_ERROR],
  ])('%s in the middle of an answer without streaming is free, because none of it was delivered', async (_name, reason, outcome) => {
    const { error, records } = await play({ streaming: false, script: failing([batch([started, blockStart, delta], 3)], reason) });
    expect(error?.reason).toBe(reason);
    expect(records).toEqual([expect.objectContaining({ outcome, free: true, tokens: expect.objectContaining({ outputTokens: 3 }) })]);
  });

  it('is rejected before any money is held while no call can be recorded', async () => {
    const { error, holds, generated } = await play({ isRecordingUnavailable: true });
    expect(error?.reason).toBe('service_unavailable');
    expect([holds, generated]).toEqual([[], []]);
  });

  it('is free in checkpoints, too, until it is recorded, if it is free', async () => {
    const { checkpoints, records } = await play({
      checkpointMs: 5,
      streaming: false,
      script: failing([batch([started, blockStart, delta], 0)], 'upstream_failed'),
      // Metering does not answer until some checkpoints have been sent.
      record: (_attempt, checkpointsSent) => {
        if (checkpointsSent < 3) throw new AppError('service_unavailable', 'Unavailable.');
      },
    });
    expect(records).toMatchObject([{ free: true, tokens: { inputTokens: 10 } }]);
    expect(checkpoints.length).toBeGreaterThan(2);
    for (const tokens of checkpoints) expect(tokens).toEqual(TokenCounts.fromPartial({}));
    // The report was sent before the first checkpoint, which leaves the call out.
    expect(records).toMatchObject([{ neverCheckpointed: true }]);
  });

  it('is reported as checkpointed once a checkpoint has named it', async () => {
    let checkpointed = (): void => undefined;
    const { records } = await play({
      checkpointMs: 5,
      script: async function* () {
        yield batch([started, blockStart, delta], 3);
        await new Promise<void>((resolve) => (checkpointed = resolve));
        yield batch([finished()], 3);
      },
      onCheckpoint: () => checkpointed(),
    });
    expect(records).toMatchObject([{ neverCheckpointed: false }]);
  });

  it('is an error when the upstream ends without finishing', async () => {
    const { error, records } = await play({
      script: async function* () {
        yield batch([started, blockStart, delta], 3);
      },
    });
    expect(error?.reason).toBe('upstream_failed');
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT, tokens: { outputTokens: 3 } });
  });

  it('cancels the upstream and records what was used when the client disconnects', async () => {
    const disconnected = new AbortController();
    let upstreamSignal: AbortSignal | undefined;
    const { records } = await play({
      disconnected: disconnected.signal,
      script: async function* (_request, context) {
        upstreamSignal = context.signal;
        yield batch([started, blockStart, delta], 3);
        setTimeout(() => disconnected.abort(), 5);
        await new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(new AppError('cancelled', 'gone'))));
      },
    });
    expect(upstreamSignal?.aborted).toBe(true);
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
      free: false,
      tokens: { inputTokens: 10, outputTokens: 3 },
    });
  });

  /** Sends three tokens, lets the client disconnect, then continues to the end, a token every few milliseconds. */
  const continuing = (
    disconnected: AbortController,
    tokens: number,
    last = finished({ usage: { inputTokens: 12, outputTokens: tokens } }),
  ): Script =>
    async function* (_request, context) {
      yield batch([started, blockStart, delta], 3);
      disconnected.abort();
      for (let count = 4; count <= tokens; count += 1) {
        await sleep(2);
        context.signal.throwIfAborted();
        yield batch([delta], count);
      }
      yield batch([last], tokens);
    };

  it('is drained when the client disconnects shortly before the end, and charged by the figures of the upstream', async () => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      drain: { readOnTimeMs: 10_000 },
      script: continuing(disconnected, 6),
    });
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
      free: false,
      source: UsageSource.USAGE_SOURCE_REPORTED,
      tokens: { inputTokens: 12, outputTokens: 6 },
    });
  });

  it.each<[string, Play['drain'], number]>([
    ['more tokens', { readOnTimeMs: 10_000, readOnTokensMax: 4 }, 60],
    ['longer', { readOnTimeMs: 20, readOnTokensMax: 1000 }, 200],
    ['any time while draining is disabled', { readOnTimeMs: 0 }, 4],
    ['any time while too many answers are drained', { readOnCallsMax: 0 }, 4],
  ])('is cancelled, and charged for what was delivered before the disconnect, when its end would take %s', async (_what, drain, tokens) => {
    const disconnected = new AbortController();
    const { records, error } = await play({ disconnected: disconnected.signal, drain, script: continuing(disconnected, tokens) });
    expect(error).toBeDefined();
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
      free: false,
      source: UsageSource.USAGE_SOURCE_ESTIMATED,
      tokens: { inputTokens: 10, outputTokens: 3 },
    });
  });

  it('is charged for what was delivered before the disconnect when draining yields no figures of the upstream', async () => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      drain: { readOnTimeMs: 10_000 },
      script: continuing(disconnected, 6, finished({ usageReported: false, usageFault: 'output_above_cap' })),
    });
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
      quarantined: true,
      outcomeDetail: 'output_above_cap',
      tokens: { inputTokens: 10, outputTokens: 3 },
    });
  });

  it('charges nothing when the client disconnects before the upstream accepted the request', async () => {
    const disconnected = new AbortController();
    const used: (number | undefined)[] = [];
    const { records } = await play({
      disconnected: disconnected.signal,
      limiter: { admit: () => ({ end: (tokens: number | undefined) => void used.push(tokens) }) },
      script: (request, context) => {
        disconnected.abort();
        return failing([], 'cancelled')(request, context);
      },
    });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: true });
    // Its estimate stays counted.
    expect(used).toEqual([undefined]);
  });

  const failedFirst: GenerateResponse = {
    events: [],
    usageSoFar: undefined,
    failedAttempt: FailedAttempt.fromPartial({
      target: { upstreamId: 'first', upstreamModel: 'x' },
      durationMs: 30,
      reason: 'upstream_overloaded',
      httpStatus: 503,
      next: { upstreamId: 'second', upstreamModel: 'real-name' },
    }),
  };
  const untilCancelled = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  /** Sends these messages, lets the client disconnect, and then nothing more. */
  const silentAfter = (disconnected: AbortController, ...messages: GenerateResponse[]): Script =>
    async function* (_request, { signal }) {
      yield* messages;
      disconnected.abort();
      await untilCancelled(signal);
    };

  it('charges the input, as counted, when the client disconnects after the upstream accepted the call and before it answered', async () => {
    const disconnected = new AbortController();
    const { records, steps, counted } = await play({
      disconnected: disconnected.signal,
      script: silentAfter(disconnected, accepted),
      count: { inputTokens: 7 },
    });
    expect(steps.map(({ kind }) => kind)).toEqual(['admitted']);
    expect(counted).toEqual([expect.objectContaining({ upstreamModel: 'real-name', input: expect.objectContaining({ tokensMax: 50 }) })]);
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
      free: false,
      source: UsageSource.USAGE_SOURCE_ESTIMATED,
      tokens: { inputTokens: 7, outputTokens: 0 },
      call: { upstreamId: 'second', upstreamModel: 'real-name' },
    });
  });

  it('charges the usage that the upstream reports within the drain, though it had only accepted the call', async () => {
    const disconnected = new AbortController();
    const { records, counted } = await play({
      disconnected: disconnected.signal,
      drain: { readOnTimeMs: 10_000 },
      script: async function* () {
        yield accepted;
        disconnected.abort();
        yield batch([started, blockStart, delta, finished()], 5);
      },
    });
    expect(counted).toEqual([]);
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
      free: false,
      source: UsageSource.USAGE_SOURCE_REPORTED,
      tokens: { inputTokens: 10, outputTokens: 5 },
    });
  });

  it.each([
    ['a stream', true, true],
    ['a whole answer, whose status line arrives with it', false, false],
  ])('that no upstream has accepted: %s is cancelled at once: %p', async (_what, streaming, isCancelled) => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      streaming,
      drain: { readOnTimeMs: 10_000 },
      script: async function* (_request, { signal }) {
        disconnected.abort();
        if (signal.aborted) throw signal.reason;
        yield batch([started, blockStart, delta, finished()], 5);
      },
    });
    expect(records[0]).toMatchObject({
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
      free: isCancelled,
      tokens: { outputTokens: isCancelled ? 0 : 5 },
    });
  });

  it('is free when a whole answer does not arrive within the drain', async () => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      streaming: false,
      script: silentAfter(disconnected),
    });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: true });
  });

  it.each<[string, GenerateResponse[]]>([
    ['before it is sent', [{ ...batch([]), usageSoFar: undefined, waits: true }]],
    ['before it is repeated', [failedFirst, { ...batch([]), usageSoFar: undefined, waits: true }]],
  ])('is not sent for a client that disconnects while it waits %s', async (_when, messages) => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      streaming: false,
      drain: { readOnTimeMs: 10_000 },
      script: silentAfter(disconnected, ...messages),
    });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: true });
  });

  it('is not sent for a client that disconnected before it began to wait', async () => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      streaming: false,
      drain: { readOnTimeMs: 10_000 },
      script: async function* (_request, { signal }) {
        disconnected.abort();
        yield { ...batch([]), usageSoFar: undefined, waits: true };
        await untilCancelled(signal);
      },
    });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: true });
  });

  it('is awaited again once it has waited', async () => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      streaming: false,
      drain: { readOnTimeMs: 10_000 },
      script: async function* (_request, { signal }) {
        yield { ...batch([]), usageSoFar: undefined, waits: true };
        yield { ...batch([]), usageSoFar: undefined, waits: false };
        disconnected.abort();
        if (signal.aborted) throw signal.reason;
        yield batch([started, blockStart, delta, finished()], 5);
      },
    });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: false, tokens: { outputTokens: 5 } });
  });

  it('is not sent if the client disconnected before the upstream was called', async () => {
    const { records, generated } = await play({
      disconnected: AbortSignal.abort(),
      streaming: false,
      drain: { readOnTimeMs: 10_000 },
      script: async function* (_request, { signal }) {
        if (signal.aborted) throw signal.reason;
        yield batch([started, blockStart, delta, finished()], 5);
      },
    });
    expect(generated).toHaveLength(1);
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: true });
  });

  it.each([true, false])(
    'pays for the input if it may be hedged and was accepted, and no other target is called (streamed: %p)',
    async (streaming) => {
      const disconnected = new AbortController();
      const { records } = await play({
        disconnected: disconnected.signal,
        streaming,
        hedgeAfterMs: 1,
        count: { inputTokens: 7 },
        drain: { readOnTimeMs: 10_000 },
        script: silentAfter(disconnected, accepted),
      });
      expect(records[0]).toMatchObject({
        outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
        free: false,
        tokens: { inputTokens: 7, outputTokens: 0 },
      });
    },
  );

  it('tries no other target for a client that disconnected, and charges nothing for an attempt that failed', async () => {
    const disconnected = new AbortController();
    const { records } = await play({
      disconnected: disconnected.signal,
      drain: { readOnTimeMs: 10_000 },
      script: async function* (_request, { signal }) {
        yield { ...accepted, accepted: { target: failedFirst.failedAttempt!.target } };
        disconnected.abort();
        yield failedFirst;
        await untilCancelled(signal);
      },
    });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, free: true, tokens: { inputTokens: 0 } });
  });

  it('is not charged in checkpoints before its first output', async () => {
    const { checkpoints } = await play({
      checkpointMs: 2,
      script: async function* () {
        yield accepted;
        await sleep(20);
        yield batch([started]);
        await sleep(20);
        yield batch([blockStart, delta], 3);
        await sleep(20);
        yield batch([finished()], 5);
      },
    });
    expect(new Set(checkpoints.map(({ inputTokens, outputTokens }) => `${inputTokens} ${outputTokens}`))).toEqual(new Set(['0 0', '10 3']));
  });

  it.each<[string, Partial<GenerateResponse>, object]>([
    ['neither half', {}, { inputTokens: 7, outputTokens: 4 }],
    ['the input', { inputReported: true }, { inputTokens: 10, outputTokens: 4 }],
    ['part of the output', { reportedOutput: { outputTokens: 3, reasoningTokens: 1 } }, { inputTokens: 7, outputTokens: 4 }],
    ['both halves', { inputReported: true, outputReported: true }, { inputTokens: 10, outputTokens: 3 }],
  ])('counts a cancelled answer by the tokenizer where the upstream reported %s so far', async (_what, flags, tokens) => {
    const disconnected = new AbortController();
    const { records, counted } = await play({
      disconnected: disconnected.signal,
      script: silentAfter(disconnected, { ...batch([started, blockStart, delta, delta], 3), ...flags }),
      count: { inputTokens: 7, outputTokens: 4 },
      choices: 2,
    });
    expect(records[0]).toMatchObject({ free: false, tokens });
    for (const { output } of counted) expect(output?.reported).toEqual(flags.reportedOutput);
    for (const { output } of counted) expect(output).toMatchObject({ text: 'hihi', contentEvents: 2, tokensMax: 200 });
    expect(counted).toHaveLength('outputReported' in flags ? 0 : 1);
  });

  it('is completed when the client disconnects after the model has finished', async () => {
    const disconnected = new AbortController();
    const { records, steps, error } = await play({
      disconnected: disconnected.signal,
      script: async function* () {
        yield batch([started, blockStart, delta, finished()], 5);
        disconnected.abort();
        throw new AppError('cancelled', 'gone');
      },
    });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_COMPLETED, free: false });
    expect([error, steps.at(-1)?.kind]).toEqual([undefined, 'recorded']);
  });

  it('is recorded once also when its consumer stops reading', async () => {
    const { records } = await play({ readSteps: 3 });
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, tokens: { outputTokens: 3 } });
  });

  it('waits until metering is available again before it sends the end', async () => {
    const { steps, records } = await play({
      record: (attempt) => {
        if (attempt < 3) throw new AppError('service_unavailable', 'Unavailable.');
      },
    });
    expect(records).toHaveLength(1);
    expect(steps.at(-1)?.kind).toBe('recorded');
  });

  it('ends with an error, not as complete, when it cannot be recorded', async () => {
    const { steps, error } = await play({
      record: () => {
        throw new AppError('service_unavailable', 'Unavailable.');
      },
    });
    expect(error?.reason).toBe('service_unavailable');
    expect(steps.some((step) => step.kind === 'recorded')).toBe(false);
  });

  it('records failed attempts, and does not show them to its caller', async () => {
    const { steps, records } = await play({
      script: async function* () {
        yield failedFirst;
        yield* happy(GenerateRequest.fromPartial({}), callContext({ caller: 'gateway' }));
      },
    });
    expect(steps.map((step) => step.kind)).toEqual(['admitted', 'events', 'events', 'events', 'recorded']);
    expect(records[0]?.call?.attempts).toEqual([
      expect.objectContaining({ upstreamId: 'first', reason: 'upstream_overloaded', httpStatus: 503, durationMs: 30, answered: false }),
      expect.objectContaining({ upstreamId: 'second', reason: '', answered: true }),
    ]);
  });

  it('begins again when a whole answer broke off, and is charged for the attempt that completed it alone', async () => {
    const { steps, records } = await play({
      streaming: false,
      script: async function* () {
        yield batch([started]);
        yield batch([blockStart, delta, delta], 40);
        yield {
          ...failedFirst,
          failedAttempt: { ...failedFirst.failedAttempt!, target: { upstreamId: 'second', upstreamModel: 'real-name' } },
        };
        yield* happy(GenerateRequest.fromPartial({}), callContext({ caller: 'gateway' }));
      },
    });
    expect(steps.map((step) => step.kind)).toEqual(['admitted', 'events', 'events', 'restarted', 'events', 'events', 'events', 'recorded']);
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_COMPLETED, free: false, tokens: { inputTokens: 10, outputTokens: 5 } });
    expect(records[0]?.call?.attempts.map(({ answered, reason }) => [answered, reason])).toEqual([
      [true, 'upstream_overloaded'],
      [true, ''],
    ]);
  });

  it('is collected from its beginning again when it broke off', async () => {
    const collected: Record<'answer' | 'response' | 'log', string[]> = { answer: [], response: [], log: [] };
    const collector = (name: keyof typeof collected) => ({
      isUndelivered: false,
      begin: () => undefined,
      take: (taken: { events: readonly Event[] } | readonly Event[]) =>
        void collected[name].push(...('events' in taken ? taken.events : taken).map(({ event }) => event!.$case)),
      restart: () => void collected[name].splice(0),
      end: () => undefined,
    });
    await play({
      streaming: false,
      more: {
        answerSink: { ...collector('answer'), answer: async () => Buffer.alloc(0) },
        responseSink: { ...collector('response'), response: async () => undefined } as unknown as CallRequest['responseSink'],
        promptLog: collector('log') as unknown as CallRequest['promptLog'],
      },
      script: async function* () {
        yield batch([started]);
        yield batch([blockStart, delta, delta], 40);
        yield failedFirst;
        yield* happy(GenerateRequest.fromPartial({}), callContext({ caller: 'gateway' }));
      },
    });
    const whole = ['started', 'blockStart', 'blockDelta', 'finished'];
    expect(collected).toEqual({ answer: whole, response: whole, log: whole });
  });

  const responseSink = (response: () => Promise<StoredResponse | undefined>) =>
    ({ begin: () => undefined, take: () => undefined, restart: () => undefined, response }) as unknown as CallRequest['responseSink'];

  it('reports that its response is not stored if that is too large or cannot be encrypted', async () => {
    for (const response of [async () => undefined, () => Promise.reject(new Error('No key.'))]) {
      const { records, steps } = await play({ more: { responseSink: responseSink(response) } });
      expect(records[0]?.storedResponse).toBeUndefined();
      expect(steps.at(-1)).toMatchObject({
        kind: 'recorded',
        recorded: { storage: ResponseStorage.RESPONSE_STORAGE_TOO_LARGE },
      });
    }
    const stored: StoredResponse = { parts: [], keptMs: 1 };
    const { records, steps } = await play({ more: { responseSink: responseSink(async () => stored) } });
    expect(records[0]?.storedResponse).toEqual(stored);
    expect(steps.at(-1)).toMatchObject({ kind: 'recorded', recorded: { storage: undefined } });
  });

  it('stores no response that broke off', async () => {
    const { records } = await play({
      more: { responseSink: responseSink(async () => ({ parts: [], keptMs: 1 })) },
      script: failing([batch([started, blockStart, delta], 3)], 'upstream_failed'),
    });
    expect(records).toEqual([expect.objectContaining({ free: false, storedResponse: undefined })]);
  });

  it('has the ledger write its hold before its report is spooled', async () => {
    const { holds } = await play({
      streaming: false,
      unwritten: true,
      record: (attempt) => {
        if (attempt === 1) throw new AppError('service_unavailable', 'Unavailable.');
      },
    });
    expect(holds).toEqual([holds[0], { ...holds[0]!, durableWithRecord: false }]);
    expect(holds[0]!.durableWithRecord).toBe(true);
    expect((await play({ streaming: false, unwritten: true })).holds).toHaveLength(1);
  });

  it('goes to a target that has its prompt cached, unless its model has no affinity or it is for vectors', async () => {
    const scopes = async (options: Play) => {
      const { generated, records } = await play(options);
      return generated.map(({ affinityScope }) => affinityScope === records[0]!.call!.accountId);
    };
    expect(await scopes({})).toEqual([true]);
    for (const options of [{ prefixAffinity: false }, { embedding: EmbeddingOptions.fromPartial({}) }])
      expect(await scopes(options)).toEqual([false]);
  });

  it('counts nothing of an answer that broke off when its client disconnects during the next attempt', async () => {
    const disconnected = new AbortController();
    const { records, counted } = await play({
      streaming: false,
      disconnected: disconnected.signal,
      count: { inputTokens: 7, outputTokens: 2 },
      script: async function* (_request, { signal }) {
        yield batch([started]);
        yield batch([blockStart, delta, delta], 40);
        yield failedFirst;
        yield batch([started]);
        yield batch([blockStart, delta], 1);
        disconnected.abort();
        await untilCancelled(signal);
      },
    });
    expect(counted[0]?.output).toMatchObject({ text: 'hi' });
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED, tokens: { inputTokens: 7, outputTokens: 2 } });
  });

  it('records the attempts when all failed and nothing was sent to its caller', async () => {
    const { steps, records, error } = await play({
      script: failing(
        [
          failedFirst,
          {
            ...failedFirst,
            failedAttempt: { ...failedFirst.failedAttempt!, target: { upstreamId: 'second', upstreamModel: 'real-name' }, next: undefined },
          },
        ],
        'upstream_overloaded',
      ),
    });
    expect(error?.reason).toBe('upstream_overloaded');
    expect(steps.map((step) => step.kind)).toEqual(['admitted']);
    expect(records[0]).toMatchObject({ outcome: Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, free: true });
    expect(records[0]?.call?.attempts.map(({ upstreamId, reason }) => [upstreamId, reason])).toEqual([
      ['first', 'upstream_overloaded'],
      ['second', 'upstream_overloaded'],
    ]);
  });

  it('records the single attempt of a usual call in a few bytes', async () => {
    const { records } = await play();
    expect(records[0]?.call?.attempts).toEqual([
      {
        upstreamId: 'second',
        upstreamModel: 'real-name',
        offsetMs: expect.any(Number),
        answered: true,
        reason: '',
        httpStatus: 0,
        upstreamRequestId: '',
      },
    ]);
  });

  it('ends as a gateway error when metering has closed it', async () => {
    const { error, records } = await play({
      closesAfterMs: 5,
      script: async function* (_request, context) {
        yield batch([started, blockStart, delta], 3);
        await new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
      },
    });
    expect(error?.reason).toBe('call_closed');
    expect(records).toEqual([
      expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, outcomeDetail: 'call_closed', free: false }),
    ]);
  });

  it('marks implausible usage figures', async () => {
    const { records } = await play({
      script: async function* () {
        yield batch([started, blockStart, delta, finished({ usageReported: false, usageFault: 'negative output' })], 5);
      },
    });
    expect(records[0]).toMatchObject({ quarantined: true, outcomeDetail: 'negative output', source: UsageSource.USAGE_SOURCE_ESTIMATED });
  });
});
