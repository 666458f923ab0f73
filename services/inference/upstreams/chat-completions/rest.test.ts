import { describe, expect, it } from '@jest/globals';
import type { Event } from '#proto/inference/v1/inference.js';
import { ChatCompletionsDecoder } from './stream.js';

/** Returns what callers receive alongside the meaning: [kind of event, JSON], and the rest alongside the end. */
function restOf(payloads: readonly unknown[], isNative = true): { rests: [string, unknown][]; end: unknown; events: Event[] } {
  let ids = 0;
  const decoder = new ChatCompletionsDecoder({
    target: { upstreamId: 'u', upstreamModel: 'm' },
    requestId: '',
    droppedFields: [],
    isNative,
    stopSequences: [],
    toCallerName: (name) => name,
    newToolCallId: () => `made_${(ids += 1)}`,
  });
  const events = [...payloads.flatMap((payload) => decoder.push(JSON.stringify(payload))), ...decoder.end()];
  const rests = events.flatMap(({ event, extraJson }): [string, unknown][] => [
    ...(event?.$case === 'foreign' ? [['foreign', JSON.parse(event.value.json)] as [string, unknown]] : []),
    ...(extraJson === undefined ? [] : [[event!.$case, JSON.parse(extraJson)] as [string, unknown]]),
  ]);
  const { extraJson } = decoder.outcome!;
  return { rests, end: extraJson === undefined ? undefined : JSON.parse(extraJson), events };
}

const base = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm-1' };
const chunk = (delta: unknown, choice: object = {}, top: object = {}) => ({
  ...base,
  ...top,
  choices: [{ index: 0, delta, finish_reason: null, logprobs: null, ...choice }],
});
const finish = (choice: object = {}, top: object = {}) => chunk({}, { finish_reason: 'stop', ...choice }, top);
const usage = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

describe('the rest of an answer', () => {
  it('is empty if the events carry everything', () => {
    const plain = [
      chunk({ role: 'assistant', content: '', refusal: null }),
      chunk({ reasoning_content: 'r', reasoning: 'r' }),
      chunk({ content: 'x' }),
      finish(),
      { ...base, choices: [], usage },
    ];
    expect(restOf(plain)).toMatchObject({ rests: [], end: undefined });
    expect(restOf(plain).events.some((event) => 'extraJson' in event)).toBe(false);
  });

  it('is not sent to callers of another format', () => {
    const rich = [
      chunk({ content: 'x' }, { logprobs: { content: [] } }, { service_tier: 'default' }),
      { ...base, choices: [{ index: 1, delta: { content: 'y' }, finish_reason: 'stop' }] },
      finish({ stop_reason: 7 }),
    ];
    expect(restOf(rich, false)).toMatchObject({ rests: [], end: undefined });
    expect(restOf(rich).rests).toHaveLength(3);
  });

  it('has the top level of the first chunk on "started", and later only what differs', () => {
    const top = { service_tier: 'default', system_fingerprint: 'fp', new_object: { a: 1 }, nothing: null };
    const { rests, end } = restOf([
      chunk({ role: 'assistant', content: 'a' }, {}, top),
      chunk({ content: 'b' }, {}, top),
      chunk({ content: 'c' }, {}, { ...top, service_tier: 'flex' }),
      chunk({}, {}, { new_object: { a: 2 } }),
      finish({}, { system_fingerprint: 'fp2' }),
    ]);
    expect(rests).toEqual([
      ['started', { service_tier: 'default', system_fingerprint: 'fp', new_object: { a: 1 } }],
      ['blockDelta', { service_tier: 'flex' }],
      ['foreign', { new_object: { a: 2 } }],
    ]);
    expect(end).toEqual({ system_fingerprint: 'fp2' });
  });

  it('has what Azure sends first, in a chunk without choices', () => {
    expect(
      restOf([{ ...base, choices: [], prompt_filter_results: [{ prompt_index: 0 }] }, chunk({ content: 'x' }), finish()]).rests,
    ).toEqual([['started', { prompt_filter_results: [{ prompt_index: 0 }] }]]);
  });

  it('has log probabilities and filter results on the last event of their chunk', () => {
    const logprobs = { content: [{ token: 'x', logprob: -0.1 }], refusal: null };
    const { rests } = restOf([
      chunk({ role: 'assistant', content: '' }, { content_filter_results: {} }),
      chunk({ content: 'x' }, { logprobs, content_filter_results: { hate: { filtered: false } } }),
      finish(),
    ]);
    expect(rests).toEqual([
      ['started', { choices: [{ index: 0, content_filter_results: {} }] }],
      ['blockDelta', { choices: [{ index: 0, logprobs, content_filter_results: { hate: { filtered: false } } }] }],
    ]);
  });

  it('has unknown fields of a delta on its event, or as a separate piece if there is none', () => {
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }];
    const { rests, events } = restOf([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'x', annotations }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }),
      chunk({ audio: { data: 'AA' } }),
      finish(),
    ]);
    expect(rests).toEqual([
      ['blockDelta', { choices: [{ index: 0, delta: { annotations } }] }],
      ['foreign', { choices: [{ index: 0, delta: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] } }] }],
      ['foreign', { choices: [{ index: 0, delta: { audio: { data: 'AA' } } }] }],
    ]);
    expect(events.flatMap(({ event }) => (event?.$case === 'foreign' ? [event.value.isEnd, event.value.countedText] : []))).toEqual([
      false,
      '',
      false,
      '',
    ]);
  });

  it('has unknown fields of tool calls under the caller’s number of the call, once the call has begun', () => {
    const signature = { google: { thought_signature: 's' } };
    const { rests } = restOf([
      chunk({ tool_calls: [{ index: 7, id: 'a', type: 'function', function: { name: 'f', arguments: '{' }, extra_content: signature }] }),
      chunk({ tool_calls: [{ index: 9, id: 'b', type: 'function', function: { name: 'g', arguments: '{}', new: 1 } }] }),
      chunk({ tool_calls: [{ index: 7, function: { arguments: '}' } }] }),
      finish(),
    ]);
    expect(rests).toEqual([
      ['blockDelta', { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, extra_content: signature }] } }] }],
      ['blockDelta', { choices: [{ index: 0, delta: { tool_calls: [{ index: 1, function: { new: 1 } }] } }] }],
    ]);
  });

  it('has what came alongside the finish reason and the usage at the end', () => {
    const { rests, end } = restOf([
      chunk({ role: 'assistant', content: 'x' }),
      finish({ stop_reason: 'END', logprobs: { content: [] } }),
      {
        ...base,
        choices: [],
        usage: { ...usage, prompt_tokens_details: { cached_tokens: 0, audio_tokens: 1 }, num_sources_used: 0, queue_time: 0.1 },
        system_fingerprint: 'fp',
      },
    ]);
    expect(rests).toEqual([]);
    expect(end).toEqual({
      system_fingerprint: 'fp',
      choices: [{ index: 0, stop_reason: 'END', logprobs: { content: [] } }],
      usage: { prompt_tokens_details: { audio_tokens: 1 }, num_sources_used: 0, queue_time: 0.1 },
    });
  });

  it('never reveals what the upstream charges, nor its own ids', () => {
    const secret = { cost: 0.1, cost_details: { upstream_inference_cost: 0.1 }, is_byok: true };
    const { rests, end } = restOf([
      chunk({ role: 'assistant', content: 'x' }, {}, { x_groq: { id: 'req_1' }, request_id: 'r', obfuscation: 'abc', cost: 1 }),
      { ...finish(), usage: { ...usage, ...secret } },
      { ...base, choices: [], usage: { ...usage, ...secret } },
    ]);
    expect([rests, end]).toEqual([[], undefined]);
  });

  it('has a finish reason without a common form, unless tools were called', () => {
    expect(restOf([chunk({ content: 'x' }), finish({ finish_reason: 'vendor_pause' })]).end).toEqual({
      choices: [{ index: 0, finish_reason: 'vendor_pause' }],
    });
    const call = { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] };
    expect(restOf([chunk(call), finish({ finish_reason: 'vendor_pause' })]).end).toBeUndefined();
  });

  it('of a zero-filled later usage does not replace that of the real one', () => {
    const { end } = restOf([
      chunk({ content: 'x' }),
      { ...finish(), usage: { ...usage, real: 1 } },
      { ...base, choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, real: 0 } },
    ]);
    expect(end).toEqual({ usage: { real: 1 } });
  });

  it('is ignored in pings, and kept for frames that are neither chunks nor errors', () => {
    expect(restOf([{ type: 'ping' }, chunk({ content: 'x' }), { type: 'ping', n: 1 }, { progress: 0.5 }, finish()]).rests).toEqual([
      ['foreign', { progress: 0.5 }],
    ]);
  });
});

describe('parallel answers', () => {
  it('are passed on whole except for the first, with their text and their end', () => {
    const other = (delta: unknown, finish_reason: string | null = null) => ({ index: 1, delta, finish_reason, logprobs: null });
    const call = { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] };
    const { rests, events } = restOf([
      { ...base, choices: [{ index: 0, delta: { role: 'assistant', content: '' } }, other({ role: 'assistant', content: '' })] },
      { ...base, choices: [{ index: 0, delta: { content: 'x' }, logprobs: { content: [] } }, other({ content: 'y', reasoning: 'z' })] },
      { ...base, choices: [other(call)] },
      finish(),
      { ...base, choices: [other({}, 'tool_calls')] },
    ]);
    expect(rests).toEqual([
      ['foreign', { choices: [other({ role: 'assistant', content: '' })] }],
      ['blockDelta', { choices: [{ index: 0, logprobs: { content: [] } }] }],
      ['foreign', { choices: [other({ content: 'y', reasoning: 'z' })] }],
      ['foreign', { choices: [other(call)] }],
      ['foreign', { choices: [other({}, 'tool_calls')] }],
    ]);
    expect(events.flatMap(({ event }) => (event?.$case === 'foreign' ? [[event.value.countedText, event.value.isEnd]] : []))).toEqual([
      ['', false],
      ['yz', false],
      ['f{}', false],
      ['', true],
    ]);
  });

  it('are broken off while one has not ended', () => {
    expect(() => restOf([{ ...base, choices: [{ index: 1, delta: { content: 'y' } }] }, finish()])).toThrow('ended its answer early');
  });

  it('that arrive whole are pieces like streamed ones', () => {
    const message = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    };
    const { rests, end } = restOf([
      {
        ...base,
        object: 'chat.completion',
        service_tier: 'default',
        choices: [
          { index: 0, message: { role: 'assistant', content: 'x', annotations: [] }, finish_reason: 'stop' },
          { index: 1, message, finish_reason: 'tool_calls' },
        ],
      },
    ]);
    expect(rests).toEqual([
      ['started', { service_tier: 'default' }],
      [
        'foreign',
        {
          choices: [{ index: 1, delta: { ...message, tool_calls: [{ index: 0, ...message.tool_calls[0] }] }, finish_reason: 'tool_calls' }],
        },
      ],
    ]);
    expect(end).toEqual({ choices: [{ index: 0, delta: { annotations: [] } }] });
  });
});
