import { describe, expect, it } from '@jest/globals';
import { raisedBy } from '#kit/testing/waiting.js';
import { StopReason } from '#proto/inference/v1/inference.js';
import { decoded, eventsOf, summary } from '../../testing/fixtures.js';
import { ChatCompletionsDecoder } from './stream.js';

const target = { upstreamId: 'u', upstreamModel: 'm' };

function newDecoder(stopSequences: string[] = [], runsTools = false): ChatCompletionsDecoder {
  let ids = 0;
  return new ChatCompletionsDecoder({
    target,
    requestId: '',
    droppedFields: [],
    isNative: false,
    stopSequences,
    runsTools,
    toCallerName: (name) => name,
    newToolCallId: () => `made_${(ids += 1)}`,
  });
}

function nativeDecoder(choices = 1): ChatCompletionsDecoder {
  return new ChatCompletionsDecoder({
    target,
    requestId: '',
    droppedFields: [],
    isNative: true,
    stopSequences: [],
    choices,
    toCallerName: (name) => name,
    newToolCallId: () => 'made',
  });
}

const decode = (payloads: readonly unknown[]) => decoded(newDecoder(), payloads);
const delta = (value: unknown, finish: string | null = null) => ({
  id: 'c1',
  model: 'm-1',
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});
const finish = (reason: string) => delta({}, reason);
const call = (entry: unknown) => delta({ tool_calls: [entry] });
const words = (...payloads: unknown[]) => decode(payloads).words;
const reasonOf = (...payloads: unknown[]): string => raisedBy(() => decode(payloads)).reason;

describe('a chat-completions stream', () => {
  it('begins with the first chunk, which names the model and the request', () => {
    const [started] = newDecoder().push(JSON.stringify(delta({ role: 'assistant', content: '' })));
    expect(started?.event).toEqual({
      $case: 'started',
      value: { target, upstreamRequestId: 'c1', upstreamReportedModel: 'm-1', droppedFields: [] },
    });
  });

  it('carries text', () => {
    expect(
      words(delta({ role: 'assistant', content: '' }), delta({ content: 'Hel' }), delta({ content: 'lo' }), finish('stop'), '[DONE]'),
    ).toEqual(['started', '0:text', 'Hello', '0.']);
  });

  it.each(['reasoning_content', 'reasoning'])('carries reasoning from %s, and the text after it', (field) => {
    expect(words(delta({ [field]: 'Hm' }), delta({ content: 'Hi' }), finish('stop'))).toEqual([
      'started',
      '0:reasoning',
      'Hm',
      '0.',
      '1:text',
      'Hi',
      '1.',
    ]);
  });

  it('carries reasoning once if it arrives in both fields', () => {
    expect(words(delta({ reasoning_content: 'Hm', reasoning: 'Hm' }), finish('stop'))).toEqual(['started', '0:reasoning', 'Hm', '0.']);
  });

  it('carries a refusal', () => {
    const { words: written, decoder } = decode([delta({ refusal: 'No.' }), finish('stop')]);
    expect(written).toEqual(['started', '0:refusal', 'No.', '0.']);
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_REFUSAL);
  });

  it('may open with a chunk without choices, and contain frames that are not chunks', () => {
    expect(words({ choices: [], prompt_filter_results: [] }, { type: 'ping' }, delta({ content: 'x' }), finish('stop'))).toEqual([
      'started',
      '0:text',
      'x',
      '0.',
    ]);
  });

  it('does not begin with a chunk without choices, so that another target can be tried', () => {
    const decoder = newDecoder();
    expect(
      decoder.push(JSON.stringify({ id: '', model: '', choices: [], prompt_filter_results: [], usage: { prompt_tokens: 3 } })),
    ).toEqual([]);
    expect(decoder.report.input).toMatchObject({ inputTokens: 3 });
    expect(decoder.push(JSON.stringify(delta({ content: 'x' })))[0]).toMatchObject({
      event: { $case: 'started', value: { upstreamRequestId: 'c1', upstreamReportedModel: 'm-1' } },
    });
    expect(reasonOf({ choices: [] }, '[DONE]')).toBe('upstream_failed');
  });

  it('ignores choices other than the first, empty tool lists and nulls', () => {
    const other = {
      choices: [
        { index: 1, delta: { content: 'no' } },
        { index: 0, delta: { content: 'yes', tool_calls: [], refusal: null }, finish_reason: null },
      ],
      error: null,
    };
    expect(words(other, finish('stop'))).toEqual(['started', '0:text', 'yes', '0.']);
  });

  it('may contain a delta that is null, errors that are null, and choices that are missing or null', () => {
    expect(
      words(
        { id: 'c' },
        { choices: null },
        { choices: [{ index: 0, delta: null }], error: null },
        delta({ content: 'x' }),
        { choices: null, error: false },
        finish('stop'),
      ),
    ).toEqual(['started', '0:text', 'x', '0.']);
  });

  it('carries text and reasoning that come as lists of parts', () => {
    expect(
      words(
        delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }),
        delta({ content: [{ type: 'text', text: 'Hi' }] }),
        finish('stop'),
      ),
    ).toEqual(['started', '0:reasoning', 'Hm', '0.', '1:text', 'Hi', '1.']);
  });

  it('keeps the first text after reasoning, in one chunk with it or not', () => {
    expect(words(delta({ reasoning_content: 'Hm', content: 'Hi' }), finish('stop'))).toEqual([
      'started',
      '0:reasoning',
      'Hm',
      '0.',
      '1:text',
      'Hi',
      '1.',
    ]);
  });

  it('may be one whole answer, from a server that does not stream', () => {
    const message = {
      role: 'assistant',
      content: 'Hi',
      reasoning_content: 'Hm',
      refusal: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'b', type: 'function', function: { name: 'g', arguments: '' } },
      ],
    };
    const whole = {
      id: 'c1',
      object: 'chat.completion',
      model: 'm-1',
      choices: [{ index: 0, message, finish_reason: 'tool_calls', logprobs: null }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    };
    const { words: written, decoder } = decode([whole]);
    expect(written).toEqual([
      'started',
      '0:reasoning',
      'Hm',
      '0.',
      '1:text',
      'Hi',
      '1.',
      '2:toolCall(a,f)',
      '{"x":1}',
      '2.',
      '3:toolCall(b,g)',
      '{}',
      '3.',
    ]);
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_TOOL_CALLS);
    expect(decoder.report.output).toEqual({ outputTokens: 2, reasoningTokens: 0 });
    expect(words({ choices: [{ message: { content: 'Hi' } }] })).toEqual(['started', '0:text', 'Hi', '0.']);
  });

  it('may end with the whole answer, which is not repeated', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const message = { role: 'assistant', content: 'Hello', reasoning_content: 'Hm', tool_calls: [call] };
    const whole = {
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'length' }],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
    };
    const chunks = [
      delta({ role: 'assistant', reasoning_content: 'Hm' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      delta({ tool_calls: [{ index: 0, ...call }] }),
    ];
    const { words: written, decoder } = decode([...chunks, whole, '[DONE]']);
    expect(written).toEqual(decode([...chunks, finish('length')]).words);
    expect(decoder.outcome?.stopReason).toBe(StopReason.STOP_REASON_MAX_TOKENS);
    expect(decoder.report).toMatchObject({ input: { inputTokens: 3 }, output: { outputTokens: 4 } });
  });

  it('may contain nothing but its end', () => {
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
    ['model_length', StopReason.STOP_REASON_MAX_TOKENS],
    ['content_filter: SAFETY', StopReason.STOP_REASON_REFUSAL],
    ['constructor', StopReason.STOP_REASON_END],
  ])('%s after text', (label, expected) => {
    expect(decode([delta({ content: 'x' }), finish(label)]).decoder.outcome?.stopReason).toBe(expected);
  });

  it.each([
    ['stop', StopReason.STOP_REASON_TOOL_CALLS],
    ['tool_calls', StopReason.STOP_REASON_TOOL_CALLS],
    ['function_call', StopReason.STOP_REASON_TOOL_CALLS],
    ['length', StopReason.STOP_REASON_MAX_TOKENS],
  ])('%s after a tool call', (label, expected) => {
    expect(decode([call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }), finish(label)]).decoder.outcome?.stopReason).toBe(
      expected,
    );
  });

  it.each(['stop_reason', 'matched_stop'])('names the stop sequence that %s reports, if it was requested', (field) => {
    const stopped = (sequence: unknown) => {
      const decoder = newDecoder(['END']);
      decoder.push(JSON.stringify(delta({ content: 'x' })));
      decoder.push(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', [field]: sequence }] }));
      decoder.end();
      return decoder.outcome;
    };
    expect(stopped('END')).toMatchObject({ stopReason: StopReason.STOP_REASON_STOP_SEQUENCE, stopSequence: 'END' });
    for (const other of ['###', 128_001, null])
      expect(stopped(other)).toMatchObject({ stopReason: StopReason.STOP_REASON_END, stopSequence: '' });
  });

  it.each([
    ['error', 'upstream_failed'],
    ['abort', 'upstream_failed'],
    ['insufficient_system_resource', 'upstream_overloaded'],
  ])('by %s is a failure', (label, reason) => {
    expect(reasonOf(delta({ content: 'x' }), finish(label))).toBe(reason);
  });

  it('is the marker, or the end of the body after a finish reason', () => {
    expect(words(delta({ content: 'x' }, 'stop'))).toEqual(['started', '0:text', 'x', '0.']);
    expect(words(delta({ content: 'x' }), '[DONE]')).toEqual(['started', '0:text', 'x', '0.']);
  });

  it('is a failure before a finish reason, and if nothing was sent at all', () => {
    expect(reasonOf(delta({ content: 'x' }))).toBe('upstream_failed');
    expect(reasonOf('[DONE]')).toBe('upstream_failed');
    expect(reasonOf()).toBe('upstream_failed');
  });
});

describe('tool calls of a chat-completions stream', () => {
  const opened = (id: string, name: string, index: number) => `${index}:toolCall(${id},${name})`;

  it('are streamed as they arrive, one after another', () => {
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
    ).toEqual([
      'started',
      opened('a', 'f', 0),
      '{"x":1}',
      '0.',
      opened('b', 'g', 1),
      '{"y":"\\"}"}',
      '1.',
      opened('c', 'h', 2),
      '[]',
      '2.',
    ]);
  });

  it('are distinguished by id if the index is missing or always the same', () => {
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

  it('wait for an id or a name that arrives late', () => {
    expect(
      words(
        call({ index: 0, function: { arguments: '{"x"' } }),
        call({ index: 0, function: { name: 'f', arguments: ':1' } }),
        call({ index: 0, id: 'a', function: { arguments: '}' } }),
        finish('tool_calls'),
      ),
    ).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.']);
  });

  it('get an id from us if the upstream sends none', () => {
    expect(
      words(call({ function: { name: 'f', arguments: '{}' } }), call({ function: { name: 'g', arguments: '{}' } }), finish('stop')),
    ).toEqual(['started', opened('made_1', 'f', 0), '{}', '0.', opened('made_2', 'g', 1), '{}', '1.']);
  });

  it('take an id and a name that are repeated only once', () => {
    const fragment = (text: string) => call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: text } });
    expect(words(fragment('{"x"'), fragment(':1}'), finish('tool_calls'))).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.']);
  });

  it('of one id are distinguished by index or by completeness, and get separate ids', () => {
    for (const [one, two] of [
      [0, 1],
      [undefined, undefined],
      [0, 0],
    ]) {
      expect(
        words(
          call({ index: one, id: 'a', function: { name: 'f', arguments: '{}' } }),
          call({ index: two, id: 'a', function: { name: 'g', arguments: '{"y":2}' } }),
          finish('tool_calls'),
        ),
      ).toEqual(['started', opened('a', 'f', 0), '{}', '0.', opened('made_1', 'g', 1), '{"y":2}', '1.']);
    }
  });

  it('of one index and no ids are distinguished by completeness', () => {
    expect(
      words(
        call({ index: 0, function: { name: 'f', arguments: '{"x":1}' } }),
        call({ index: 0, function: { name: 'f', arguments: '{"x":2}' } }),
        finish('stop'),
      ),
    ).toEqual(['started', opened('made_1', 'f', 0), '{"x":1}', '0.', opened('made_2', 'f', 1), '{"x":2}', '1.']);
  });

  it('that repeat all but the arguments after their end are not new calls', () => {
    const fragment = (text: string | null) => call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: text } });
    expect(words(fragment('{}'), fragment(''), fragment(null), finish('tool_calls'))).toEqual(['started', opened('a', 'f', 0), '{}', '0.']);
  });

  it('may have an index that is text, and no type', () => {
    expect(
      words(
        call({ index: '0', id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        call({ index: '0', function: { arguments: ':1}' } }),
        finish('tool_calls'),
      ),
    ).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.']);
  });

  it('may be the one function of an old server', () => {
    const written = words(
      delta({ function_call: { name: 'f', arguments: '' } }),
      delta({ function_call: { arguments: '{"x"' } }),
      delta({ function_call: { arguments: ':1}' } }),
      finish('function_call'),
    );
    expect(written).toEqual(['started', '0:toolCall(made_1,f)', '{"x":1}', '0.']);
  });

  it('of custom tools carry free text, which may be empty', () => {
    const decoder = newDecoder();
    const custom = (entry: unknown) => decoder.push(JSON.stringify(call(entry)));
    const events = [
      ...custom({ index: 0, id: 'a', type: 'custom', custom: { name: 'sql', input: 'SELECT {' } }),
      ...custom({ index: 1, id: 'b', type: 'custom', custom: { name: 'sql', input: '' } }),
      ...custom({ index: 0, custom: { input: '1}' } }),
      ...decoder.push(JSON.stringify(finish('tool_calls'))),
      ...decoder.end(),
    ];
    expect(summary(eventsOf([{ events, usageSoFar: undefined }]))).toEqual([
      'started',
      opened('a', 'sql', 0),
      'SELECT {1}',
      '0.',
      opened('b', 'sql', 1),
      '1.',
    ]);
    expect(
      events.flatMap(({ event }) =>
        event?.$case === 'blockStart' && event.value.block?.$case === 'toolCall' ? [event.value.block.value.isCustom] : [],
      ),
    ).toEqual([true, true]);
  });

  it('without arguments get an empty object, and arguments that are an object become its text', () => {
    expect(words(call({ index: 0, id: 'a', function: { name: 'f' } }), finish('tool_calls'))).toEqual([
      'started',
      opened('a', 'f', 0),
      '{}',
      '0.',
    ]);
    expect(words(call({ index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } }), finish('stop'))).toEqual([
      'started',
      opened('a', 'f', 0),
      '{"x":1}',
      '0.',
    ]);
  });

  it('are ended by text that follows them', () => {
    expect(words(call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }), delta({ content: 'so' }), finish('stop'))).toEqual([
      'started',
      opened('a', 'f', 0),
      '{}',
      '0.',
      '1:text',
      'so',
      '1.',
    ]);
  });

  it('are not split by text in the middle of their arguments, which comes after them', () => {
    expect(
      words(
        call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        delta({ content: '\n' }),
        delta({ content: 'so', tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
        delta({ content: ' on' }),
        finish('tool_calls'),
      ),
    ).toEqual(['started', opened('a', 'f', 0), '{"x":1}', '0.', '1:text', '\nso on', '1.']);
    expect(
      words(call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }), delta({ content: 'so' }), finish('length')),
    ).toEqual(['started', opened('a', 'f', 0), '{"x"', '0.', '1:text', 'so', '1.']);
  });

  it('fail the answer when a name never arrives, or a complete call continues', () => {
    expect(reasonOf(call({ index: 0, id: 'a', function: { arguments: '{}' } }), finish('tool_calls'))).toBe('upstream_failed');
    const closed = [
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
      call({ index: 1, id: 'b', function: { name: 'g', arguments: '{}' } }),
    ];
    expect(reasonOf(...closed, call({ index: 0, function: { arguments: '{"again":1}' } }), finish('tool_calls'))).toBe('upstream_failed');
  });
});

describe('usage of a chat-completions stream', () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 4,
    prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  const report = {
    input: { inputTokens: 5, cacheReadTokens: 3, cacheWrite5mTokens: 2, cacheWrite1hTokens: 0 },
    output: { outputTokens: 4, reasoningTokens: 1 },
  };
  const other = { prompt_tokens: 10, completion_tokens: 1 };

  it.each([
    ['on a chunk of its own', [delta({ content: 'x' }), finish('stop'), { choices: [], usage }]],
    ['on the finish chunk', [delta({ content: 'x' }), { ...finish('stop'), usage }]],
    [
      'on every chunk, the last one counts',
      [
        { ...delta({ content: 'x' }), usage: other },
        { ...finish('stop'), usage },
        { choices: [], usage: null },
      ],
    ],
    ['on a chunk whose choices are null', [delta({ content: 'x' }), finish('stop'), { choices: null, usage }]],
    ['on the first chunk, which has no choices', [{ choices: [], usage }, delta({ content: 'x' }), finish('stop')]],
    [
      'in the last choice, as Moonshot has it',
      [delta({ content: 'x' }), { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }],
    ],
    ["in an object of Groq's", [delta({ content: 'x' }), { ...finish('stop'), x_groq: { id: 'req_1', usage } }]],
    [
      'before a later one that is all zeros',
      [
        { ...finish('stop'), usage },
        { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
      ],
    ],
    [
      'before a later one that is empty',
      [
        { ...finish('stop'), usage },
        { choices: [], usage: {} },
      ],
    ],
    [
      'in two halves',
      [
        { ...finish('stop'), usage: { ...usage, completion_tokens: 0 } },
        { choices: [], usage: { completion_tokens: 4, completion_tokens_details: usage.completion_tokens_details } },
      ],
    ],
  ])('%s', (_where, payloads) => {
    expect(decode(payloads).decoder.report).toEqual(report);
  });

  it('keeps tokens when searches are reported after them', () => {
    const searches = { choices: [], usage: { server_tool_use: { web_search_requests: 2 } } };
    expect(decode([{ ...finish('stop'), usage }, searches]).decoder.report).toEqual({ ...report, searches: 2 });
  });

  it('is final when it comes after all answers have ended', () => {
    const decoder = nativeDecoder();
    const ended = (index: number, finish_reason: string | null) => {
      decoder.push(JSON.stringify({ choices: [{ index, delta: { content: 'x' }, finish_reason }], usage }));
      return decoder.isReportFinal;
    };
    expect([ended(1, null), ended(0, 'stop'), ended(1, 'stop')]).toEqual([false, false, true]);
  });

  it('has all content once every choice that was requested has ended, even if one has not begun', () => {
    const decoder = nativeDecoder(2);
    const has = (index: number, finish_reason: string | null) => {
      decoder.push(JSON.stringify({ choices: [{ index, delta: { content: 'x' }, finish_reason }] }));
      return decoder.hasAllContent;
    };
    expect([has(0, 'stop'), has(1, null), has(1, 'stop')]).toEqual([false, false, true]);
  });

  it.each([
    [
      "beside the prompt's details",
      { prompt_tokens: 10, completion_tokens: 4, prompt_cache_hit_tokens: 3, prompt_cache_miss_tokens: 7 },
      { inputTokens: 7, cacheReadTokens: 3 },
    ],
    ['at the top', { prompt_tokens: 10, completion_tokens: 4, cached_tokens: 3 }, { inputTokens: 7, cacheReadTokens: 3 }],
  ])('reads cached tokens %s', (_where, raw, expected) => {
    expect(decode([finish('stop'), { choices: [], usage: raw }]).decoder.report.input).toMatchObject(expected);
  });

  it.each([
    [
      'by Alibaba',
      { cached_tokens: 3, cache_creation_input_tokens: 5, cache_creation: { ephemeral_5m_input_tokens: 5 }, cache_type: 'ephemeral' },
      { inputTokens: 2, cacheReadTokens: 3, cacheWrite5mTokens: 5, cacheWrite1hTokens: 0 },
    ],
    ['by LiteLLM', { cached_tokens: 0, cache_creation_tokens: 6 }, { inputTokens: 4, cacheWrite5mTokens: 6, cacheWrite1hTokens: 0 }],
    [
      'by LiteLLM, in part for an hour',
      {
        cache_creation_tokens: 6,
        cache_creation_token_details: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 4 },
      },
      { inputTokens: 4, cacheWrite5mTokens: 2, cacheWrite1hTokens: 4 },
    ],
  ])('reads tokens written to a cache as they are named %s', (_vendor, details, expected) => {
    const raw = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14, prompt_tokens_details: details };
    expect(decode([finish('stop'), { choices: [], usage: raw }]).decoder.report.input).toMatchObject(expected);
  });

  it('is rejected if more tokens are cached for an hour than were written to caches', () => {
    const details = { cache_creation_tokens: 1, cache_creation_token_details: { ephemeral_1h_input_tokens: 2 } };
    const raw = { prompt_tokens: 10, completion_tokens: 4, prompt_tokens_details: details };
    expect(decode([finish('stop'), { choices: [], usage: raw }]).decoder.report.input).toBe('cache_write_parts_above_total');
  });

  it('counts reasoning as output where a vendor has it alongside the completion, as the total shows', () => {
    const raw = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 34, completion_tokens_details: { reasoning_tokens: 20 } };
    expect(decode([finish('stop'), { choices: [], usage: raw }]).decoder.report.output).toEqual({ outputTokens: 24, reasoningTokens: 20 });
    expect(decode([finish('stop'), { choices: [], usage: { ...raw, completion_tokens: 24 } }]).decoder.report.output).toEqual({
      outputTokens: 24,
      reasoningTokens: 20,
    });
  });

  describe('whose total is more than its parts', () => {
    const outputOf = (raw: object, runsTools = false) => {
      const decoder = newDecoder([], runsTools);
      decoder.push(JSON.stringify({ ...finish('stop'), usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 103, ...raw } }));
      return decoder.report.output;
    };

    it("has Gemini's thoughts in it, which are output", () => {
      expect(outputOf({})).toEqual({ outputTokens: 94, reasoningTokens: 93 });
      expect(outputOf({ completion_tokens: 0, completion_tokens_details: null })).toEqual({ outputTokens: 94, reasoningTokens: 94 });
    });

    it.each<[string, object, boolean]>([
      ['the vendor states the reasoning', { completion_tokens_details: { reasoning_tokens: 0 } }, false],
      ['these were read from a cache', { prompt_tokens_details: { cached_tokens: 93 } }, false],
      ['these were read from or written to a cache', { cache_read_input_tokens: 90, cache_creation_input_tokens: 3 }, false],
      ['the vendor may have run tools', {}, true],
      ['the prompt is in another report', { prompt_tokens: 0 }, false],
      ['the total is not a count', { total_tokens: 103.5 }, false],
      ['it is less', { total_tokens: 9 }, false],
    ])('has no thoughts in it if %s', (_why, raw, runsTools) => {
      expect(outputOf(raw, runsTools)).toEqual({ outputTokens: 1, reasoningTokens: 0 });
    });
  });

  it('is rejected if more tokens were read from and written to caches than there was input', () => {
    const both = { ...usage, prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 1 } };
    expect(decode([finish('stop'), { choices: [], usage: both }]).decoder.report).toEqual({
      input: 'cached_above_input',
      output: report.output,
    });
  });

  it('is unknown if none is sent', () => {
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
    [
      { error: { message: 'x', code: 503 }, choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] },
      'upstream_overloaded',
    ],
    [{ object: 'error', message: 'bad', type: 'BadRequestError', code: 400 }, 'upstream_rejected'],
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
