// Calls whose first token is late.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#kit/testing/waiting.js';
import { callContext } from '#client/call-context.js';
import { type FailedAttempt, type Started, TargetChoice } from '#proto/inference/v1/inference.js';
import type { StubUpstream } from '../../../tests/upstream/stub-upstream.js';
import { collect, eventsOf, finishedOf, type TestInference, textRequest } from '../testing/fixtures.js';
import { stubRequest, operator, startStubbed } from '../testing/stubbed.js';

let stub: StubUpstream;
let inference: TestInference;
let stop: () => Promise<void>;

const answer = { blocks: [{ type: 'text', text: 'Hello.' }] } as const;
const silent = { ...answer, fault: { kind: 'slow-headers', delayMs: 60_000 } } as const;
const failing = { kind: 'status', status: 500, body: {} } as const;

afterEach(() => stop());

/** Calls "one", and "two" when the first token of "one" is late. */
async function call(rest: Parameters<typeof textRequest>[1] = {}) {
  const targets = [
    { upstreamId: 'cc', upstreamModel: 'one' },
    { upstreamId: 'm', upstreamModel: 'two' },
  ];
  const messages = await collect(inference.service, textRequest('Hi', { targets, hedgeAfterMs: 60, streaming: true, ...rest }));
  const failed = messages.flatMap(({ failedAttempt }) => (failedAttempt === undefined ? [] : [failedAttempt]));
  const started = eventsOf(messages).filter(({ $case }) => $case === 'started');
  expect(started).toHaveLength(1);
  expect(finishedOf(messages).usageReported).toBe(true);
  return { started: started[0]!.value as Started, failed, messages };
}

const called = (model: string) => stub.requests.filter(({ body }) => body['model'] === model);
const words = (attempts: readonly FailedAttempt[]) =>
  attempts.map(({ target, reason, next }) => [target!.upstreamModel, reason, next?.upstreamModel]);

describe('a call whose first token is late', () => {
  beforeEach(async () => {
    ({ stub, inference, stop } = await startStubbed());
  });

  it('is answered by a second target, and the first is cancelled at once', async () => {
    stub.script('one', silent);
    stub.script('two', answer);
    const { started, failed } = await call();
    expect([started.target!.upstreamModel, started.choice]).toEqual(['two', TargetChoice.TARGET_CHOICE_HEDGE]);
    expect(words(failed)).toEqual([['one', 'cancelled', 'two']]);
    expect(failed[0]!.nextOffsetMs).toBeGreaterThanOrEqual(59);
    expect(await called('one')[0]!.clientLeft).toBe(true);
    expect((await inference.service.listTargetHealth({}, callContext({ caller: 'operator' }))).targets).toEqual([]);
  });

  it('is answered by the first target if that is sooner, and the second is cancelled', async () => {
    stub.script('one', { ...answer, fault: { kind: 'slow-headers', delayMs: 1000 } });
    stub.script('two', silent);
    const { started, failed } = await call();
    expect([started.target!.upstreamModel, started.choice]).toEqual(['one', undefined]);
    expect(words(failed)).toEqual([['two', 'cancelled', 'one']]);
    expect(failed[0]!.choice).toBe(TargetChoice.TARGET_CHOICE_HEDGE);
    expect(failed[0]!.nextOffsetMs).toBeLessThan(failed[0]!.offsetMs);
    expect(await called('two')[0]!.clientLeft).toBe(true);
  });

  it('is answered by the other target if one fails', async () => {
    stub.script('one', { ...answer, fault: { kind: 'slow-headers', delayMs: 1000 } });
    stub.script('two', { fault: failing });
    const one = await call({ streaming: false });
    expect([one.started.target!.upstreamModel, words(one.failed)]).toEqual(['one', [['two', 'upstream_failed', 'one']]]);
  });

  it('tries a third target if both fail', async () => {
    stub.script('one', { fault: { kind: 'reset', afterBytes: 0 }, blocks: [], frameDelayMs: 200 });
    stub.script('two', { fault: failing });
    stub.script('three', answer);
    const targets = [
      { upstreamId: 'cc', upstreamModel: 'two' },
      { upstreamId: 'm', upstreamModel: 'two' },
      { upstreamId: 'm', upstreamModel: 'three' },
    ];
    expect((await call({ targets })).started.target!.upstreamModel).toBe('three');
  });

  it('makes no second call if the first token is in time, or if the call must not be hedged', async () => {
    stub.script('one', answer);
    await call({ hedgeAfterMs: 5000 });
    stub.script('one', { ...answer, fault: { kind: 'slow-headers', delayMs: 150 } });
    await call({ hedgeAfterMs: undefined });
    expect(called('two')).toEqual([]);
  });

  it('ends at both targets when the client disconnects', async () => {
    stub.script('one', silent);
    stub.script('two', silent);
    const over = new AbortController();
    const calling = collect(
      inference.service,
      textRequest('Hi', { targets: ['one', 'two'].map((upstreamModel) => ({ upstreamId: 'cc', upstreamModel })), hedgeAfterMs: 60 }),
      over.signal,
    ).catch((error: unknown) => error);
    await eventually(async () => (stub.requests.length === 2 ? true : undefined));
    over.abort();
    expect(await calling).toMatchObject({ reason: 'cancelled' });
    expect(await Promise.all(stub.requests.map(({ clientLeft }) => clientLeft))).toEqual([true, true]);
  });
});

describe('a call whose first token is late, beyond the budget for retries', () => {
  it('is not hedged', async () => {
    ({ stub, inference, stop } = await startStubbed({ retriesPerSecondMin: 0, retryPercent: 0 }));
    stub.script('one', { ...answer, fault: { kind: 'slow-headers', delayMs: 200 } });
    stub.script('two', answer);
    expect((await call()).started.target!.upstreamModel).toBe('one');
    expect(called('two')).toEqual([]);
  });
});

describe('the attempts of a hedged call', () => {
  const calling = () => {
    const targets = [
      { upstreamId: 'cc', upstreamModel: 'one' },
      { upstreamId: 'm', upstreamModel: 'two' },
    ];
    return inference.service.generate(textRequest('Hi', { targets, hedgeAfterMs: 60 }), operator);
  };

  /** Yields the messages of a call, and pauses before its first event until both attempts have one. */
  async function* slowly() {
    stub.script('one', { ...answer, fault: { kind: 'slow-headers', delayMs: 300 } });
    stub.script('two', { ...answer, edit: (events) => [': comment\n\n', ...events], frameDelayMs: 20 });
    for await (const message of calling()) {
      if (message.accepted !== undefined) {
        expect(await Promise.all(stub.requests.map(({ clientLeft }) => clientLeft))).toEqual([false, false]);
        await sleep(300);
      }
      yield message;
    }
  }

  beforeEach(async () => {
    ({ stub, inference, stop } = await startStubbed({ connectionsMax: 1 }));
  });

  /** Another call to each upstream is refused if an attempt still counts as in flight. */
  afterEach(async () => {
    for (const id of ['cc', 'm']) finishedOf(await collect(inference.service, stubRequest('text', id)));
  });

  it('end if they lose, even if their first event has arrived', async () => {
    const messages = await Array.fromAsync(slowly());
    const failed = messages.flatMap(({ failedAttempt }) => failedAttempt ?? []);
    expect(words(failed)).toEqual([['two', 'cancelled', 'one']]);
    expect(failed[0]!.httpStatus).toBe(200);
    expect(finishedOf(messages).usageReported).toBe(true);
  });

  it('end when the client disconnects, even if their first events have arrived', async () => {
    for await (const { accepted } of slowly()) if (accepted !== undefined) break;
  });

  it('end when the client disconnects between the report of the one that lost and the first event of the other', async () => {
    stub.script('one', silent);
    stub.script('two', { ...answer, fault: { kind: 'stall', afterFrames: 2 } });
    for await (const { failedAttempt } of calling()) if (failedAttempt !== undefined) break;
  });
});
