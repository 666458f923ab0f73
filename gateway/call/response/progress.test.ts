import { describe, expect, it } from '@jest/globals';
import { Event, GenerateResponse } from '#proto/inference/v1/inference.js';
import { Call, Outcome, RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { reportOf } from '../recording/outcome.js';
import { Progress } from './progress.js';

const startedAtMs = 1_800_000_000_000;
const delta = { event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value: 'hi' } } } };

/** Returns the encoded report of a call whose first output and end were seen this long after its start. */
function travelled(firstOutputMs: number, durationMs: number): RecordUsageRequest {
  const progress = new Progress(Call.fromPartial({ id: 'req_1' }), startedAtMs);
  progress.take(GenerateResponse.fromPartial({ events: [delta] }), startedAtMs + firstOutputMs);
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
    progress.take(GenerateResponse.fromPartial({ events: [delta] }), startedAtMs);
    expect(progress.checkpoint.units).toEqual({ counts: [{ unit: 'request', count: 1 }] });
  });
});

describe('output', () => {
  const blockStart = (block: object): object => ({ event: { $case: 'blockStart', value: { index: 0, block } } });
  it.each<[string, object, boolean]>([
    ['a text block that opens', blockStart({ $case: 'text', value: {} }), false],
    ['a reasoning block that opens', blockStart({ $case: 'reasoning', value: {} }), false],
    ['a refusal that opens', blockStart({ $case: 'refusal', value: {} }), false],
    ['an empty text', { event: { $case: 'blockDelta', value: { delta: { $case: 'text', value: '' } } } }, false],
    ['a chunk that only has the role of another answer', { event: { $case: 'foreign', value: { json: '{}', countedText: '' } } }, false],
    ['a ping', { event: { $case: 'foreign', value: { json: '{}' } } }, false],
    ['a text', delta, true],
    ['redacted reasoning', blockStart({ $case: 'reasoning', value: { redactedData: 'x' } }), true],
    ['the name of a tool', blockStart({ $case: 'toolCall', value: { id: 'call_1', name: 'get' } }), true],
    ['a block without a common form', blockStart({ $case: 'foreign', value: { json: '{}' } }), true],
    ['a text of another answer', { event: { $case: 'foreign', value: { json: '{}', countedText: 'hi' } } }, true],
    ['a vector', { event: { $case: 'embedding', value: { index: 0 } } }, true],
  ])('begins with %s: %j %p', (_what, event, isOutput) => {
    const progress = new Progress(Call.fromPartial({ id: 'req_1' }), startedAtMs);
    progress.take(GenerateResponse.fromPartial({ events: [Event.fromPartial(event)] }), startedAtMs);
    expect(progress.firstOutputAtMs !== undefined).toBe(isOutput);
  });
});

describe('a hedged call', () => {
  const [first, second] = ['one', 'two'].map((upstreamModel) => ({ upstreamId: 'u', upstreamModel }));
  const response = (message: object): GenerateResponse => GenerateResponse.fromPartial(message);

  it('stays accepted when one of two upstreams that accepted it fails, and is drained only once one has begun to answer', () => {
    const progress = new Progress(Call.fromPartial({ id: 'req_1', streaming: false }), startedAtMs, true);
    progress.ask(startedAtMs);
    progress.take(response({ accepted: { target: first } }), startedAtMs);
    progress.take(response({ accepted: { target: second } }), startedAtMs);
    progress.take(response({ failedAttempt: { target: first, next: second } }), startedAtMs);
    expect([progress.isAccepted, progress.isExpected]).toEqual([true, false]);
    progress.take(response({ events: [{ event: { $case: 'started', value: { target: second } } }] }), startedAtMs);
    expect([progress.isAccepted, progress.isExpected]).toEqual([true, true]);
    progress.take(response({ failedAttempt: { target: second } }), startedAtMs);
    expect(progress.isAccepted).toBe(false);
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
    const long = {
      event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value: 'word'.repeat(100) } } },
    };
    const batch = GenerateResponse.fromPartial({ events: [long], usageSoFar: { outputTokens: 4000 } });
    progress.take(batch, startedAtMs);
    expect(progress.outputTokensRead).toBe(4000);
    progress.noteDisconnect();
    progress.take(batch, startedAtMs);
    progress.take(batch, startedAtMs);
    expect(progress.outputTokensRead).toBe(4200);
    expect(progress.tokens.outputTokens).toBe(4000);
  });
});
