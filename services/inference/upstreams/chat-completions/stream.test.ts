import { describe, expect, it } from '@jest/globals';
import { hasReason } from '#kit/errors/app-error.js';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { eventsOf, summary } from '../../testing/fixtures.js';
import { ChatCompletionsDecoder } from './stream.js';

const target = { upstreamId: 'u', upstreamModel: 'm' };

function newDecoder(): ChatCompletionsDecoder {
  let ids = 0;
  return new ChatCompletionsDecoder({ target, requestId: '', droppedFields: [], isNative: false, toCallerName: (name) => name, newToolCallId: () => `made_${(ids += 1)}` });
}

/** Decodes these payloads and the end of the body; objects are sent as JSON. */
function decode(payloads: readonly unknown[]): { words: string[]; decoder: ChatCompletionsDecoder } {
  const decoder = newDecoder();
  const events: Event[] = [];
  for (const payload of payloads) events.push(...decoder.push(typeof payload === 'string' ? payload : JSON.stringify(payload)));
  events.push(...decoder.end());
  return { words: summary(eventsOf([{ events, usageSoFar: undefined }])), decoder };
}

const delta = (value: unknown, finish: string | null = null) => ({ id: 'c1', model: 'm-1', choices: [{ index: 0, delta: value, finish_reason: finish }] });
const finish = (reason: string) => delta({}, reason);
const call = (entry: unknown) => delta({ tool_calls: [entry] });
const words = (...payloads: unknown[]) => decode(payloads).words;
const reasonOf = (...payloads: unknown[]): string => {
  try {
    decode(payloads);
    return 'none';
  } catch (error) {
    return hasReason(error, 'upstream_failed', 'upstream_overloaded', 'upstream_rate_limited', 'upstream_unavailable', 'upstream_rejected', 'context_length_exceeded')
      ? error.reason
      : String(error);
  }
};

describe('a chat-completions stream', () => {
  it('begins with the first chunk, which names the model and the request', () => {
    const [started] = newDecoder().push(JSON.stringify(delta({ role: 'assistant', content: '' })));
    expect(started?.event).toEqual({ $case: 'started', value: { target, upstreamRequestId: 'c1', upstreamReportedModel: 'm-1', droppedFields: [] } });
  });

  it('carries text', () => {
    expect(words(delta({ role: 'assistant', content: '' }), delta({ content: 'Hel' }), delta({ content: 'lo' }), finish('stop'), '[DONE]')).toEqual(['started', '0:text', 'Hello', '0.']);
  });

  it.each(['reasoning_content', 'reasoning'])('carries reasoning from %s, and the text after it', (field) => {
    expect(words(delta({ [field]: 'Hm' }), delta({ content: 'Hi' }), finish('stop'))).toEqual(['started', '0:reasoning', 'Hm', '0.', '1:text', 'Hi', '1.']);
  });

  it('carries reasoning once when it comes in both fields', () => {
    expect(words(delta({ reasoning_content: 'Hm', reasoning: 'Hm' }), finish('stop'))).toEqual(['started', '0:reasoning', 'Hm', '0.']);
  });

  it('carries a refusal', () => {
    const { words: written, decoder } = decode([delta({ refusal: 'No.' }), finish('stop')]);
    expect(written).toEqual(['started', '0:refusal', 'No.', '0.']);
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_REFUSAL);
  });

  it('may open with a chunk that has no choices, and hold frames that are no chunks', () => {
    expect(words({ choices: [], prompt_filter_results: [] }, { type: 'ping' }, delta({ content: 'x' }), finish('stop'))).toEqual(['started', '0:text', 'x', '0.']);
  });

  it('ignores choices other than the first, empty tool lists and nulls', () => {
    const other = { choices: [{ index: 1, delta: { content: 'no' } }, { index: 0, delta: { content: 'yes', tool_calls: [], refusal: null }, finish_reason: null }], error: null };
    expect(words(other, finish('stop'))).toEqual(['started', '0:text', 'yes', '0.']);
  });

  it('may hold nothing but its end', () => {
    expect(words(finish('stop'), '[DONE]')).toEqual(['started']);
  });
});

describe('the end of a chat-completions stream', () => {
  it.each([
    ['stop', StopReason.STOP_REASON_END],
    ['length', StopReason.STOP_REASON_MAX_TOKENS],
    ['content_filter', StopReason.STOP_REASON_REFUSAL],
    ['tool_calls', StopReason.STOP_REASON_END],
    ['something_new', StopReason.STOP_REASON_END],
  ])('%s after text', (label, expected) => {
    expect(decode([delta({ content: 'x' }), finish(label)]).decoder.outcome?.stopReason).toBe(expected);
  });

  it.each([
    ['stop', StopReason.STOP_REASON_TOOL_CALLS],
    ['tool_calls', StopReason.STOP_REASON_TOOL_CALLS],
    ['function_call', StopReason.STOP_REASON_TOOL_CALLS],
    ['length', StopReason.STOP_REASON_MAX_TOKENS],
  ])('%s after a tool call', (label, expected) => {
    expect(decode([call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }), finish(label)]).decoder.outcome?.stopReason).toBe(expected);
  });

  it('is the marker, or the end of the body after a finish reason', () => {
    expect(words(delta({ content: 'x' }, 'stop'))).toEqual(['started', '0:text', 'x', '0.']);
    expect(words(delta({ content: 'x' }), '[DONE]')).toEqual(['started', '0:text', 'x', '0.']);
  });

  it('is a failure before a finish reason, and when nothing was said at all', () => {
    expect(reasonOf(delta({ content: 'x' }))).toBe('upstream_failed');
    expect(reasonOf('[DONE]')).toBe('upstream_failed');
    expect(reasonOf()).toBe('upstream_failed');
  });
});

describe('tool calls of a chat-completions stream', () => {
  const opened = (id: string, name: string, index: number) => `${index}:toolCall(${id},${name})`;

  it('stream as they come, one after another', () => {
    expect(
      words(
        call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
        call({ index: 0, function: { arguments: '{"x"' } }),
        call({ index: 0, function: { arguments: ':1}' } }),
        call({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } }),
        finish('tool_calls'),
      ),
    ).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.', opened('b', 'g', 1), '{}', '1.']);
  });

  it('are put in order when their fragments interleave', () => {
    expect(
      words(
        call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } }),
        call({ index: 1, id: 'b', function: { name: 'g', arguments: '{"y":"\\"}' } }),
        call({ index: 0, function: { arguments: '1}' } }),
        call({ index: 2, id: 'c', function: { name: 'h', arguments: '[]' } }),
        call({ index: 1, function: { arguments: '"}' } }),
        finish('tool_calls'),
      ),
    ).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.', opened('b', 'g', 1), '{"y":"\\"}"}', '1.', opened('c', 'h', 2), '[]', '2.']);
  });

  it('are told apart by id where the index is missing or always the same', () => {
    for (const index of [undefined, 0]) {
      expect(
        words(
          call({ index, id: 'a', function: { name: 'f', arguments: '{}' } }),
          call({ index, id: 'b', function: { name: 'g', arguments: '{"y"' } }),
          call({ index, function: { arguments: ':2}' } }),
          finish('tool_calls'),
        ),
      ).toEqual(['started', opened('a', 'f', 0), '{}', '0.', opened('b', 'g', 1), '{"y":2}', '1.']);
    }
  });

  it('wait for an id or a name that comes late', () => {
    expect(
      words(
        call({ index: 0, function: { arguments: '{"x"' } }),
        call({ index: 0, function: { name: 'f', arguments: ':1' } }),
        call({ index: 0, id: 'a', function: { arguments: '}' } }),
        finish('tool_calls'),
      ),
    ).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.']);
  });

  it('get an id from us when the upstream sends none', () => {
    expect(words(call({ function: { name: 'f', arguments: '{}' } }), call({ function: { name: 'g', arguments: '{}' } }), finish('stop'))).toEqual([
      'started', opened('made_1', 'f', 0), '{}', '0.', opened('made_2', 'g', 1), '{}', '1.',
    ]);
  });

  it('take an id and a name that are repeated only once', () => {
    const fragment = (text: string) => call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: text } });
    expect(words(fragment('{"x"'), fragment(':1}'), finish('tool_calls'))).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.']);
  });

  it('without arguments get an empty object, and arguments that are an object become its text', () => {
    expect(words(call({ index: 0, id: 'a', function: { name: 'f' } }), finish('tool_calls'))).toEqual(['started', opened('a', 'f', 0), '{}', '0.']);
    expect(words(call({ index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } }), finish('stop'))).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.']);
  });

  it('are ended by text that follows them', () => {
    expect(words(call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }), delta({ content: 'so' }), finish('stop'))).toEqual([
      'started', opened('a', 'f', 0), '{}', '0.', '1:text', 'so', '1.',
    ]);
  });

  it('fail the answer when a name never comes, or a complete call goes on', () => {
    expect(reasonOf(call({ index: 0, id: 'a', function: { arguments: '{}' } }), finish('tool_calls'))).toBe('upstream_failed');
    const closed = [call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }), call({ index: 1, id: 'b', function: { name: 'g', arguments: '{}' } })];
    expect(reasonOf(...closed, call({ index: 0, function: { arguments: '{"again":1}' } }), finish('tool_calls'))).toBe('upstream_failed');
  });
});

describe('usage of a chat-completions stream', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 }, completion_tokens_details: { reasoning_tokens: 1 } };
  const report = {
    input: { inputTokens: 5, cacheReadTokens: 3, cacheWrite5mTokens: 2, cacheWrite1hTokens: 0 },
    output: { outputTokens: 4, reasoningTokens: 1 },
  };
  const other = { prompt_tokens: 10, completion_tokens: 1 };

  it.each([
    ['on a chunk of its own', [delta({ content: 'x' }), finish('stop'), { choices: [], usage }]],
    ['on the finish chunk', [delta({ content: 'x' }), { ...finish('stop'), usage }]],
    ['on every chunk, the last one counts', [{ ...delta({ content: 'x' }), usage: other }, { ...finish('stop'), usage }, { choices: [], usage: null }]],
    ['on a chunk whose choices are null', [delta({ content: 'x' }), finish('stop'), { choices: null, usage }]],
  ])('%s', (_where, payloads) => {
    expect(decode(payloads).decoder.report).toEqual(report);
  });

  it('is not believed when more came from and went to caches than there was input', () => {
    const both = { ...usage, prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 1 } };
    expect(decode([finish('stop'), { choices: [], usage: both }]).decoder.report).toEqual({ input: 'cached_above_input', output: report.output });
  });

  it('is unknown when none is sent', () => {
    expect(decode([finish('stop')]).decoder.report).toEqual({ input: undefined, output: undefined });
  });
});

describe('a chat-completions stream that fails', () => {
  it.each([
    [{ error: { message: 'Overloaded', type: 'overloaded_error', code: null } }, 'upstream_overloaded'],
    [{ error: { message: 'slow', type: 'requests', code: 'rate_limit_exceeded' } }, 'upstream_rate_limited'],
    [{ error: { message: 'pay', type: 'insufficient_quota', code: 'insufficient_quota' } }, 'upstream_unavailable'],
    [{ error: { message: 'bad', type: 'invalid_request_error', code: null } }, 'upstream_rejected'],
    [{ error: { message: 'long', type: 'invalid_request_error', code: 'context_length_exceeded' } }, 'context_length_exceeded'],
    [{ error: { message: 'provider', code: 502 } }, 'upstream_failed'],
    [{ error: 'plain text' }, 'upstream_failed'],
    ['{"choices":[', 'upstream_failed'],
    ['[1]', 'upstream_failed'],
    [{ choices: ['x'] }, 'upstream_failed'],
    [{ choices: [{ index: 0, delta: 'x' }] }, 'upstream_failed'],
    [delta({ content: 5 }), 'upstream_failed'],
    [delta({ tool_calls: {} }), 'upstream_failed'],
    [call('x'), 'upstream_failed'],
    [call({ index: 0, id: 'a', function: { name: 'f', arguments: 5 } }), 'upstream_failed'],
  ])('%j', (payload, reason) => {
    expect(reasonOf(delta({ content: 'x' }), payload)).toBe(reason);
  });
});
