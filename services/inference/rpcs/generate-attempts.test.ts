// What is reported about attempts that failed before the answer began: enough for a record, and nothing of the vendor's text.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hasReason } from '#client/errors/app-error.js';
import { ApiFormat, type FailedAttempt, type GenerateRequest, type GenerateResponse } from '#proto/inference/v1/inference.js';
import { type StubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import type { InferenceConfig } from '../config.js';
import { eventsOf, localUpstream, summary, type TestInference, textRequest } from '../testing/fixtures.js';
import { operator, startStubbed } from '../testing/stubbed.js';

const targetOf = (model: string, upstreamId = 'cc') => ({ upstreamId, upstreamModel: model });

/** Returns the first message, and ends the call. */
async function first(messages: AsyncIterable<GenerateResponse>): Promise<GenerateResponse[]> {
  for await (const message of messages) return [message];
  return [];
}

describe('attempts', () => {
  let stub: StubUpstream;
  let inference: TestInference;
  let stop: () => Promise<void>;

  const start = async (changes: Partial<InferenceConfig> = {}): Promise<void> => {
    ({ stub, inference, stop } = await startStubbed(changes));
  };

  /** Returns what a call to these targets reports, in order: text of the answer between failures, and the reason of the error. */
  async function reported(
    request: Partial<GenerateRequest>,
    signal = new AbortController().signal,
  ): Promise<{ failed: FailedAttempt[]; words: string[]; error: string }> {
    const failed: FailedAttempt[] = [];
    const words: string[] = [];
    try {
      for await (const message of inference.service.generate(textRequest('Hi', request), {
        ...operator,
        signal,
      })) {
        words.push(...summary(eventsOf([message])).slice(0, 1));
        if (message.waits !== undefined) words.push(message.waits ? 'waits' : 'waited');
        if (message.failedAttempt === undefined) continue;
        failed.push(message.failedAttempt);
        words.push(`failed ${message.failedAttempt.target!.upstreamModel}`);
        expect({ ...message, failedAttempt: undefined }).toEqual({ events: [], usageSoFar: undefined, failedAttempt: undefined });
      }
      return { failed, words, error: '' };
    } catch (error) {
      return {
        failed,
        words,
        error: hasReason(error, 'upstream_rejected', 'upstream_failed', 'upstream_rate_limited', 'upstream_timeout', 'cancelled')
          ? error.reason
          : String(error),
      };
    }
  }

  beforeEach(() => start());
  afterEach(() => stop());

  it('are reported when the upstream has accepted the call, before its first event, whatever else it sends', async () => {
    stub.script('silent', { fault: { kind: 'stall', afterFrames: 0 } });
    stub.script('waits', { fault: { kind: 'stall', afterFrames: 0, signsOfLife: true } });
    for (const target of [targetOf('silent'), targetOf('waits', 'm')]) {
      const [message] = await first(inference.service.generate(textRequest('Hi there', { targets: [target] }), operator));
      expect(message).toMatchObject({ events: [], accepted: { target }, inputReported: false, outputReported: false });
      expect(message?.usageSoFar?.inputTokens).toBeGreaterThan(0);
    }
  });

  it('are reported as failed after they were accepted, and the next target is tried', async () => {
    stub.script('breaks', { fault: { kind: 'reset', afterBytes: 0 } });
    const { words, error } = await reported({ targets: [targetOf('breaks'), targetOf('text')] });
    expect([words[0], error]).toEqual(['failed breaks', '']);
  });

  it('that fail are reported before the one that answers', async () => {
    const { failed, words, error } = await reported({ targets: [targetOf('status-503'), targetOf('status-401', 'm'), targetOf('text')] });
    expect(words.slice(0, 3)).toEqual(['failed status-503', 'failed status-401', 'started']);
    expect(error).toBe('');
    expect(failed).toEqual([
      {
        target: targetOf('status-503'),
        offsetMs: expect.any(Number),
        durationMs: expect.any(Number),
        reason: 'upstream_overloaded',
        httpStatus: 503,
        upstreamRequestId: 'req_stub',
        droppedFields: [],
        next: targetOf('status-401', 'm'),
      },
      {
        target: targetOf('status-401', 'm'),
        offsetMs: expect.any(Number),
        durationMs: expect.any(Number),
        reason: 'upstream_unavailable',
        httpStatus: 401,
        upstreamRequestId: 'req_stub',
        droppedFields: [],
        next: targetOf('text'),
      },
    ]);
    expect(failed[1]!.offsetMs).toBeGreaterThanOrEqual(failed[0]!.offsetMs + failed[0]!.durationMs);
  });

  it('that fail are all reported if none answers, and the last has no next', async () => {
    const { failed, error } = await reported({ targets: [targetOf('status-500'), targetOf('status-429', 'm')] });
    expect(failed.map(({ reason, httpStatus, next }) => [reason, httpStatus, next?.upstreamModel])).toEqual([
      ['upstream_failed', 500, 'status-429'],
      ['upstream_rate_limited', 429, undefined],
    ]);
    expect(error).toBe('upstream_rate_limited');
  });

  it('that end the call despite another target are reported without a next target', async () => {
    const { failed, error } = await reported({ targets: [targetOf('status-400'), targetOf('text')] });
    expect(failed).toEqual([expect.objectContaining({ reason: 'upstream_rejected', httpStatus: 400 })]);
    expect(failed[0]!.next).toBeUndefined();
    expect(error).toBe('upstream_rejected');
  });

  it('that skip a target take no time and have no status', async () => {
    const native = {
      format: ApiFormat.API_FORMAT_MESSAGES,
      fieldsJson: '{"messages":[{"role":"user","content":"Hi"}]}',
      messagesBetas: [],
      otherFieldsJson: '',
      droppedElsewhere: [],
      refusedElsewhere: [{ field: 'container', text: 'is not known here' }],
      vendorTools: [],
    };
    const { failed, words } = await reported({ native, targets: [targetOf('text'), targetOf('text', 'm')] });
    expect(failed).toEqual([
      expect.objectContaining({ target: targetOf('text'), reason: 'unsupported_field', httpStatus: 0, upstreamRequestId: '' }),
    ]);
    expect(words[1]).toBe('started');
    expect(stub.requests).toHaveLength(1);
  });

  it('that get no response in time, or at all, have no status', async () => {
    await stop();
    await start({ firstTokenTimeoutMs: 1500 });
    const nobody = localUpstream('http://127.0.0.1:9/v1', { id: 'nobody', apiFormat: ApiFormat.API_FORMAT_MESSAGES });
    await inference.service.putUpstream({ upstream: nobody, secret: '' }, operator);
    const { failed } = await reported({ targets: [targetOf('x', 'nobody'), targetOf('slow-headers'), targetOf('text')] });
    expect(failed.map(({ reason, httpStatus, upstreamRequestId }) => [reason, httpStatus, upstreamRequestId])).toEqual([
      ['upstream_unavailable', 0, ''],
      ['upstream_timeout', 0, ''],
    ]);
    expect(failed[1]!.durationMs).toBeGreaterThanOrEqual(1490);
  });

  it('that begin and break off are reported only as the error if the client streams, because the next is not tried', async () => {
    const { failed, words, error } = await reported({ streaming: true, targets: [targetOf('reset'), targetOf('text')] });
    expect([failed, words[0], error]).toEqual([[], 'started', 'upstream_failed']);
  });

  it('that begin and break off are followed by the next if the client does not stream', async () => {
    const { failed, words, error } = await reported({ targets: [targetOf('reset'), targetOf('text', 'm')] });
    expect(failed).toEqual([expect.objectContaining({ reason: 'upstream_failed', httpStatus: 200, next: targetOf('text', 'm') })]);
    expect([words[0], words.slice(words.indexOf('failed reset'), 4), error]).toEqual(['started', ['failed reset', 'started'], '']);
  });

  it('that break off are repeated after a pause if there is only one target, once', async () => {
    stub.script('once', { fault: { kind: 'reset', afterBytes: 300 } }, { blocks: [{ type: 'text', text: 'Hello.' }] });
    const { failed, words, error } = await reported({ targets: [targetOf('once')] });
    expect([failed.length, failed[0]!.next, error]).toEqual([1, targetOf('once'), '']);
    expect(words.slice(words.indexOf('failed once')).slice(0, 4)).toEqual(['failed once', 'waits', 'waited', 'started']);
    expect((await reported({ targets: [targetOf('reset')] })).error).toBe('upstream_failed');
    expect(stub.requests).toHaveLength(4);
  });

  it('reveal nothing that the vendor wrote', async () => {
    const body = { error: { type: 'authentication_error', message: `Incorrect API key provided: ${stubApiKey}` } };
    stub.script('x', { fault: { kind: 'status', status: 401, body, headers: { 'x-request-id': `no such key: ${stubApiKey}` } } });
    stub.script('y', { fault: { kind: 'status', status: 401, body, headers: { 'x-request-id': stubApiKey } } });
    const { failed } = await reported({ targets: [targetOf('x'), targetOf('y'), targetOf('text')] });
    expect(failed.map(({ upstreamRequestId }) => upstreamRequestId)).toEqual(['', '']);
    expect(JSON.stringify(failed)).not.toContain('ncorrect');
  });

  it('are not reported after a disconnect', async () => {
    const left = new AbortController();
    setTimeout(() => left.abort(), 50);
    const { failed, error } = await reported({ targets: [targetOf('slow-headers'), targetOf('text')] }, left.signal);
    expect([failed, error]).toEqual([[], 'cancelled']);
  });
});
