// The public figures of models: over all accounts, of enough calls, and kept for a while.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayMs } from '#kit/clock.js';
import { testEngines } from '#kit/testing/database.js';
import { type MeteringService, Outcome, type RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { call, report, tokens } from '../../testing/calls.js';
import { Harness, record } from '../../testing/harness.js';
import { callsMin, keptMs } from './model-performance.js';

describe.each(testEngines)('the performance of models on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
  });
  afterEach(() => harness.close());

  const add = (count: number, modelId: string, agoMs: number, changes: Partial<RecordUsageRequest> = {}) =>
    Promise.all(
      Array.from({ length: count }, () =>
        record(service, report({ call: call({ modelId, startedAtMs: BigInt(harness.clock.nowMs() - agoMs) }), ...changes })),
      ),
    );
  const read = async () => (await service.listModelPerformance({})).models.toSorted((a, b) => (a.modelId < b.modelId ? -1 : 1));

  it('is measured by day and week, and left out where there are too few calls', async () => {
    // 100 tokens within two seconds after the first one, of calls of an account each.
    const fast = { firstOutputMs: 200, durationMs: 2200, tokens: tokens({ inputTokens: 1, outputTokens: 100 }) };
    await add(callsMin - 3, 'a/known', 1000, fast);
    await add(3, 'a/known', 1000, { ...fast, firstOutputMs: 1200, durationMs: 11_200 });
    await add(1, 'a/known', 2 * dayMs, { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, tokens: tokens(), free: true });
    await add(callsMin, 'b/weekly', 2 * dayMs, { outcome: Outcome.OUTCOME_COMPLETED, tokens: tokens({ inputTokens: 1, outputTokens: 2 }) });
    await add(callsMin - 1, 'c/rare', 1000);
    await add(callsMin, 'd/old', 8 * dayMs);
    const [known, weekly, rare, ...others] = await read();
    expect(known).toMatchObject({
      modelId: 'a/known',
      lastDay: {
        availableBasisPoints: 10_000,
        firstOutput: { p50Ms: 200, p95Ms: 1200 },
        tokensPerSecondP50: 50,
        tokensPerSecondP5: 10,
      },
      lastWeek: { availableBasisPoints: 9803 },
    });
    expect(weekly).toMatchObject({ modelId: 'b/weekly', lastDay: undefined, lastWeek: { availableBasisPoints: 10_000 } });
    // Two tokens say little about a speed.
    expect(weekly!.lastWeek!.tokensPerSecondP50).toBeUndefined();
    expect([rare!.lastDay, rare!.lastWeek, others]).toEqual([undefined, undefined, []]);
  });

  it('is not affected by invalid requests of clients', async () => {
    await add(callsMin - 1, 'a/known', 1000);
    await add(callsMin, 'a/known', 1000, { outcome: Outcome.OUTCOME_REJECTED, tokens: tokens(), free: true, firstOutputMs: undefined });
    await add(1, 'a/known', 1000, { outcome: Outcome.OUTCOME_TIMEOUT, tokens: tokens(), free: true, firstOutputMs: undefined });
    expect(await read()).toMatchObject([{ modelId: 'a/known', lastDay: { availableBasisPoints: 9900 } }]);
  });

  it('is measured again only after a while', async () => {
    await add(callsMin, 'a/known', 1000);
    expect(await read()).toHaveLength(1);
    await add(callsMin, 'b/new', 1000);
    expect(await read()).toHaveLength(1);
    harness.clock.advance(keptMs);
    expect(await read()).toHaveLength(2);
    await add(callsMin, 'c/newer', 1000);
    harness.clock.step(-3_600_000);
    harness.clock.advance(keptMs);
    expect(await read()).toHaveLength(3);
  });
});
