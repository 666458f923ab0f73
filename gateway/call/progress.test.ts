import { describe, expect, it } from '@jest/globals';
import { GenerateResponse } from '#proto/inference/v1/inference.js';
import { Call, Outcome, RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { reportOf } from './outcome.js';
import { Progress } from './progress.js';

const startedAtMs = 1_800_000_000_000;

/** Returns the encoded report of a call whose first output and end were seen this long after its start. */
function travelled(firstOutputMs: number, durationMs: number): RecordUsageRequest {
  const progress = new Progress(Call.fromPartial({ id: 'req_1' }), startedAtMs);
  progress.take(
    GenerateResponse.fromPartial({ events: [{ event: { $case: 'blockStart', value: { index: 0 } } }] }),
    startedAtMs + firstOutputMs,
  );
  const report = reportOf(
    progress,
    { code: Outcome.OUTCOME_COMPLETED, detail: '', free: false },
    startedAtMs + durationMs,
    Buffer.alloc(0),
  );
  return RecordUsageRequest.decode(RecordUsageRequest.encode(report).finish());
}

describe('the checkpoint of a call whose requests have a price', () => {
  it('counts the request once something was delivered', () => {
    const price = { units: [{ unit: 'request', nanoUsd: 1n, maxPerCall: 1 }] };
    const progress = new Progress(Call.fromPartial({ id: 'req_1', price }), startedAtMs);
    expect(progress.checkpoint.units).toBeUndefined();
    const events = [{ event: { $case: 'blockStart' as const, value: { index: 0 } } }];
    progress.take(GenerateResponse.fromPartial({ events }), startedAtMs);
    expect(progress.checkpoint.units).toEqual({ counts: [{ unit: 'request', count: 1 }] });
  });
});

describe('the report of an ended call', () => {
  it('contains the duration of the call', () => {
    expect(travelled(20, 300)).toMatchObject({ firstOutputMs: 20, durationMs: 300 });
  });

  it.each([
    [-3_600_000, -3_599_000, 0, 0],
    [20, -3_599_000, 20, 0],
    [5_000_000_000, 5_000_000_001, 4_294_967_295, 4_294_967_295],
  ])(
    'can be recorded even if the clock was set in the meantime: first output after %i ms, end after %i ms',
    (firstOutput, end, firstOutputMs, durationMs) => {
      expect(travelled(firstOutput, end)).toMatchObject({ firstOutputMs, durationMs });
    },
  );
});

describe('output read after a disconnect', () => {
  it('is estimated by its length while the usage figures do not change', () => {
    const progress = new Progress(Call.fromPartial({ id: 'req_1' }), startedAtMs);
    const delta = {
      event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value: 'word'.repeat(100) } } },
    };
    const batch = GenerateResponse.fromPartial({ events: [delta], usageSoFar: { outputTokens: 4000 } });
    progress.take(batch, startedAtMs);
    expect(progress.outputTokensRead).toBe(4000);
    progress.noteDisconnect();
    progress.take(batch, startedAtMs);
    progress.take(batch, startedAtMs);
    expect(progress.outputTokensRead).toBe(4200);
    expect(progress.tokens.outputTokens).toBe(4000);
  });
});
