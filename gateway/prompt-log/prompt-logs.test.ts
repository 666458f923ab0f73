import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AppError } from '#client/errors/app-error.js';
import { systemClock } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { silentLog } from '#kit/testing/log.js';
import { Project } from '#proto/auth/v1/auth.js';
import { Event } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Call, type StorePromptLogsRequest, type StorePromptLogsRequest_Entry as Entry } from '#proto/metering/v1/metering.js';
import { collectGarbage } from '#kit/testing/garbage.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { chatCompletions } from '../formats/chat-completions/index.js';
import { embeddings } from '../formats/embeddings/index.js';
import type { Format, ParsedCall } from '../formats/format.js';
import { messages } from '../formats/messages/index.js';
import { responses } from '../formats/responses/index.js';
import { answers } from '../formats/testing/answers.js';
import type { RequestState } from '../http/request-state.js';
import { callWorld, finished, output, started } from '../call/testing/call-world.js';
import { meteredCall } from '../call/metered-call.js';
import { CallLog } from './call-log.js';
import { keptBytesMax } from './kept-body.js';
import { createPromptLogs } from './prompt-logs.js';

const tokens = TokenCounts.fromPartial({ inputTokens: 3, outputTokens: 4 });
const bodies: Record<string, object> = {
  'chat-completions': { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
  messages: { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] },
  responses: { model: 'm', input: 'hello' },
  embeddings: { model: 'm', input: 'hello' },
};

/** Returns logs whose requests to metering go to `stored`, which may throw. */
function logsTo(stored: (request: StorePromptLogsRequest) => void, changes: { isOn?: boolean; queueCharsMax?: number } = {}) {
  return createPromptLogs({
    metering: {
      storePromptLogs: async (request: StorePromptLogsRequest) => {
        stored(request);
        return {};
      },
    },
    clock: systemClock,
    log: silentLog,
    rpcTimeoutMs: 1000,
    isOn: true,
    queueCharsMax: 1_000_000,
    ...changes,
  });
}

const stateWith = (days: number, neverLogPrompts: boolean | undefined = false): RequestState =>
  ({ requestId: '', dialect: chatCompletions, project: Project.fromPartial({ promptLogDays: days }), neverLogPrompts }) as RequestState;

/** Returns the log of a call, begun. */
function begun(logs: ReturnType<typeof logsTo>, format: Format, state = stateWith(7)): CallLog {
  const body = bodies[format.name]!;
  const parsed: ParsedCall = format.parse(body, {});
  const log = logs.of(state, { value: body, whole: JSON.stringify(body) }, format, parsed)!;
  const call = Call.fromPartial({ id: newId('req'), accountId: newId('acct'), startedAtMs: 5n });
  log.begin(call, { modelId: 'm', startedAtMs: 5 });
  expect(call.promptLogDays).toBe(7);
  return log;
}

describe('the log of a call', () => {
  it.each([chatCompletions, messages, responses])('has the whole answer in its format: $name', (format) => {
    const log = begun(
      logsTo(() => undefined),
      format,
    );
    log.take([started, ...output, finished]);
    log.end(tokens);
    const { log: kept } = log.entry();
    expect(kept).toMatchObject({ requestBody: JSON.stringify(bodies[format.name]), answerPartial: false, answerTruncated: false });
    expect(kept!.answerBody).toContain('hi');
    expect(JSON.parse(kept!.answerBody)).toHaveProperty('usage');
  });

  it.each([chatCompletions, messages, responses])('has the part of the answer that arrived, wherever it broke off: $name', (format) => {
    fc.assert(
      fc.property(answers, fc.nat(), (events, at) => {
        const log = begun(
          logsTo(() => undefined),
          format,
        );
        const came = events.slice(0, 1 + (at % events.length));
        log.take(came);
        log.end(tokens);
        const { log: kept } = log.entry();
        expect(kept!.answerPartial).toBe(came.length < events.length);
        expect(() => JSON.parse(kept!.answerBody)).not.toThrow();
      }),
      { numRuns: 40 },
    );
  });

  it('contains nothing of an answer that another target started again, and no vectors', () => {
    const log = begun(
      logsTo(() => undefined),
      chatCompletions,
    );
    log.take([started, ...output]);
    log.restart();
    log.end(tokens);
    expect(log.entry().log).toMatchObject({ answerBody: '', answerPartial: false });
    const vectors = begun(
      logsTo(() => undefined),
      embeddings,
    );
    vectors.take([Event.fromPartial({ event: { $case: 'embedding', value: { index: 0, vector: Buffer.alloc(4) } } })]);
    vectors.end(tokens);
    expect(vectors.entry().log).toMatchObject({ requestBody: JSON.stringify(bodies['embeddings']), answerBody: '' });
  });

  it('stops collecting an answer that is longer than what is kept', () => {
    const log = begun(
      logsTo(() => undefined),
      messages,
    );
    const long = Event.fromPartial({
      event: { $case: 'blockDelta', value: { index: 0, delta: { $case: 'text', value: 'x'.repeat(100_000) } } },
    });
    log.take([started, output[0]!, ...Array.from({ length: 50 }, () => long), finished]);
    expect(log.size).toBeLessThan(2 * keptBytesMax);
    log.end(tokens);
    const { log: kept } = log.entry();
    expect(kept).toMatchObject({ answerTruncated: true, answerPartial: false });
    expect(Buffer.byteLength(kept!.answerBody)).toBeLessThanOrEqual(keptBytesMax);
  });
});

describe('the logs of a gateway', () => {
  it('keep no prompt in memory beyond what is sent of it', async () => {
    const waiting: CallLog[] = [];
    const begin = (): WeakRef<object> => {
      const body = bodies['messages']!;
      const parsed = messages.parse(body, {});
      const log = new CallLog({ value: body, whole: JSON.stringify(body) }, messages, parsed, 7, (ended) => waiting.push(ended));
      log.begin(Call.fromPartial({ id: newId('req'), accountId: newId('acct') }), { modelId: 'm', startedAtMs: 5 });
      log.take([started, ...output, finished]);
      log.end(tokens);
      return new WeakRef(parsed.request);
    };
    const prompt = begin();
    await collectGarbage();
    expect(prompt.deref()).toBeUndefined();
    expect(waiting[0]!.entry().log!.answerBody).toContain('hi');
  });

  it.each<[string, RequestState, boolean]>([
    ['its project logs nothing', stateWith(0), true],
    ['its account never logs', stateWith(7, true), true],
    ['the setting of its account is unknown', { ...stateWith(7), neverLogPrompts: undefined } as unknown as RequestState, true],
    ['the installation logs nothing', stateWith(7), false],
  ])('have none of a call if %s', (_why, state, isOn) => {
    const parsed = chatCompletions.parse(bodies['chat-completions'], {});
    const logs = logsTo(() => undefined, { isOn });
    expect(logs.of(state, { value: {}, whole: '{}' }, chatCompletions, parsed)).toBeUndefined();
  });

  it('are sent after the call, also of one that failed, and once', async () => {
    const stored: Entry[] = [];
    const logs = logsTo(({ entries }) => stored.push(...entries));
    const { deps, request } = callWorld({
      generate: async function* () {
        yield { events: [started, ...output], usageSoFar: undefined };
        throw new AppError('upstream_failed', 'It broke.');
      },
    });
    const body = bodies['chat-completions']!;
    const promptLog = logs.of(stateWith(7), { value: body, whole: JSON.stringify(body) }, chatCompletions, chatCompletions.parse(body, {}));
    const steps = meteredCall({ ...request(), disconnected: new AbortController().signal, promptLog }, deps);
    const readAll = async (): Promise<void> => {
      for await (const step of steps) void step;
    };
    await expect(readAll()).rejects.toThrow('It broke.');
    await untilTrue(() => stored.length > 0);
    expect(stored).toMatchObject([{ days: 7, log: { requestBody: JSON.stringify(body), answerPartial: true } }]);
    expect(stored[0]!.log!.answerBody).toContain('hi');
    await logs.stop();
    expect(stored).toHaveLength(1);
  });

  it('wait while metering is unavailable, as far as there is room; the others are only marked as not kept', async () => {
    const stored: Entry[] = [];
    let isUnavailable = true;
    const logs = logsTo(
      ({ entries }) => {
        if (isUnavailable) throw new AppError('service_unavailable', 'Unavailable.');
        stored.push(...entries);
      },
      { queueCharsMax: 500 },
    );
    const all = Array.from({ length: 6 }, () => begun(logs, chatCompletions));
    for (const log of all) {
      log.take([started, ...output, finished]);
      log.end(tokens);
    }
    isUnavailable = false;
    await untilTrue(() => stored.length === all.length);
    expect(stored.map(({ log }) => log === undefined)).toEqual([false, true, true, true, true, true]);
    await logs.stop();
  });
});
