import { describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { reasoningOf } from '#rules/wire/reasoning-seals.js';
import { responseStreamFaults } from '../testing/check-responses.js';
import {
  answerContext,
  blockStart,
  customBlock,
  finished,
  foreign,
  reasoningBlock,
  redactedBlock,
  refusalBlock,
  started,
  textBlock,
  toolBlock,
} from '../testing/events.js';
import { framesOf, streamed, whole } from '../testing/frames.js';
import { responses } from './index.js';

type Data = { type: string; [field: string]: unknown };

const of = (...events: Event[]): Event[] => [started, ...events, finished()];
const framed = (events: Event[], of_ = answerContext): Data[] => framesOf(streamed(responses, of_, events)).map(({ data }) => data as Data);
const typesOf = (events: Event[]): string[] => framed(events).map(({ type }) => type.replace('response.', ''));
const answer = (events: Event[]): Record<string, unknown> => whole(responses, answerContext, events) as Record<string, unknown>;
const outputOf = (events: Event[]): unknown => answer(events)['output'];

describe('a streamed answer', () => {
  it('of text has every event of its message, numbered and with the same ids', () => {
    const frames = framed(of(...textBlock(0, 'Hel', 'lo')));
    expect(frames.map(({ type }) => type.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(frames.map(({ sequence_number: number }) => number)).toEqual([...frames.keys()]);
    expect(frames[4]).toEqual({
      type: 'response.output_text.delta',
      sequence_number: 4,
      item_id: 'msg_0199aaaabbbbccccddddeeeeffff0000_0',
      output_index: 0,
      content_index: 0,
      delta: 'Hel',
      logprobs: [],
    });
    expect(frames.at(-1)).toMatchObject({
      response: {
        id: 'resp_0199aaaabbbbccccddddeeeeffff0000',
        created_at: 1_763_600_000,
        model: 'sandbox/echo',
        store: false,
        temperature: 0.3,
        usage: {
          input_tokens: 127,
          input_tokens_details: { cached_tokens: 20, cache_write_tokens: 7 },
          output_tokens: 50,
          output_tokens_details: { reasoning_tokens: 12 },
          total_tokens: 177,
        },
      },
    });
  });

  it('of tools has the arguments of functions, the input of custom tools, and names as the caller sent them', () => {
    const toolNames = new Map([['agents__close', { namespace: 'agents', name: 'close' }]]);
    const events = of(
      ...toolBlock(0, 'call_a', 'f', '{"a"', ':1}'),
      ...customBlock(1, 'call_b', 'patch', '***'),
      ...toolBlock(2, 'call_c', 'agents__close'),
    );
    expect(typesOf(events).filter((type) => type.includes('call'))).toEqual([
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'function_call_arguments.delta',
      'function_call_arguments.done',
    ]);
    expect(framed(events, { ...answerContext, echo: { ...answerContext.echo!, toolNames } }).at(-1)).toMatchObject({
      response: {
        output: [
          { type: 'function_call', call_id: 'call_a', name: 'f', arguments: '{"a":1}', status: 'completed' },
          { type: 'custom_tool_call', call_id: 'call_b', name: 'patch', input: '***' },
          { type: 'function_call', call_id: 'call_c', name: 'close', namespace: 'agents', arguments: '{}' },
        ],
      },
    });
  });

  it('has text and a refusal of one turn in one message, and no empty items', () => {
    const events = of(...textBlock(0), ...textBlock(1, 'I '), ...refusalBlock(2, 'will not.'), ...reasoningBlock(3, ''));
    expect(outputOf(events)).toMatchObject([
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'I ' },
          { type: 'refusal', refusal: 'will not.' },
        ],
      },
    ]);
    expect(framed(events).at(-1)).toMatchObject({ type: 'response.completed' });
  });

  it.each([
    [StopReason.STOP_REASON_MAX_TOKENS, 'max_output_tokens'],
    [StopReason.STOP_REASON_CONTEXT_FULL, 'max_output_tokens'],
    [StopReason.STOP_REASON_REFUSAL, 'content_filter'],
  ])('that ends early says why: %s', (stopReason, reason) => {
    const events = [started, ...toolBlock(0, 'a', 'f', '{}'), ...textBlock(1, 'Hel'), finished(stopReason)];
    const expected = { status: 'incomplete', incomplete_details: { reason }, output: [{ status: 'completed' }, { status: 'incomplete' }] };
    expect(framed(events).at(-1)).toMatchObject({ type: 'response.incomplete', response: expected });
    expect(answer(events)).toMatchObject(expected);
  });

  it('that breaks off ends with the error, and with a failed response that has what was sent', () => {
    const encoder = responses.stream(answerContext);
    const text =
      encoder.push([started, ...textBlock(0, 'Hel')]) + encoder.fail!(new AppError('upstream_failed', 'The upstream broke off.'));
    expect(responseStreamFaults(text)).toEqual([]);
    expect(framesOf(text).slice(-2)).toMatchObject([
      { event: 'error', data: { code: 'upstream_failed', message: 'The upstream broke off.', error: { type: 'server_error' } } },
      {
        event: 'response.failed',
        data: {
          response: { status: 'failed', error: { code: 'server_error' }, output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }] },
        },
      },
    ]);
    expect(responseStreamFaults(responses.errorFrame(new AppError('upstream_failed', 'x'), 'req_1'))).toEqual([]);
  });
});

describe('reasoning', () => {
  it('is a summary, and can be sent back to the upstream that signed it', () => {
    const [first, second] = outputOf(of(...reasoningBlock(0, 'Hmm.', 'EqQB'), ...redactedBlock(1, 'sealed'))) as Record<string, unknown>[];
    expect(first).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hmm.' }] });
    expect(reasoningOf(String(first!['encrypted_content']))).toEqual({ text: 'Hmm.', signature: 'EqQB', redactedData: '' });
    expect(second).toMatchObject({ type: 'reasoning', summary: [] });
    expect(reasoningOf(String(second!['encrypted_content']))).toEqual({ text: '', signature: '', redactedData: 'sealed' });
  });
});

describe('an upstream of the format', () => {
  const rest = (event: Event, extra: object): Event => ({ ...event, extraJson: JSON.stringify(extra) });
  const text = (index: number, value: string, extra: object): Event =>
    rest({ event: { $case: 'blockDelta', value: { index, delta: { $case: 'text', value } } } }, extra);
  const stop = (index: number, extra: object): Event => rest({ event: { $case: 'blockStop', value: { index } } }, extra);

  it('keeps the ids of its items, its parts of reasoning, its encrypted content and its own fields', () => {
    const events = [
      rest(started, { prompt_cache_diagnostics: { type: 'hit' }, id: 'resp_theirs' }),
      rest(blockStart(0, { $case: 'reasoning', value: { redactedData: '' } }), { item: { id: 'rs_up' } }),
      text(0, 'One.', { summary_index: 0 }),
      text(0, '\n\n', { is_separator: true }),
      text(0, 'Two.', { summary_index: 1 }),
      text(0, 'Raw.', { content_index: 0 }),
      stop(0, { item: { id: 'rs_up', encrypted_content: 'gAAA' } }),
      rest(blockStart(1, { $case: 'text', value: {} }), { item: { id: 'msg_up', phase: 'commentary' }, part: { annotations: [] } }),
      text(1, 'Hi', { logprobs: [{ token: 'Hi' }] }),
      {
        event: {
          $case: 'blockDelta',
          value: {
            index: 1,
            delta: {
              $case: 'foreignJson',
              value:
                '{"type":"response.output_text.annotation.added","sequence_number":9,"output_index":7,"annotation_index":0,"annotation":{"type":"url_citation"}}',
            },
          },
        },
      } as Event,
      stop(1, { item: { id: 'msg_up', phase: 'commentary' }, part: { annotations: [{ type: 'url_citation' }] } }),
      rest(blockStart(2, { $case: 'text', value: {} }), { item: { id: 'msg_up' }, part: {} }),
      text(2, 'There', {}),
      stop(2, { item: { id: 'msg_up', phase: 'final_answer' }, part: {} }),
      blockStart(3, { $case: 'foreign', value: { json: '{"type":"web_search_call","id":"ws_1","status":"in_progress"}' } }),
      stop(3, { item: { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } } }),
      foreign({ type: 'response.vendor.note', sequence_number: 40, note: 1 }),
      rest(finished(), { response: { vendor_score: 1 }, usage: { vendor_units: 2, input_tokens: 9 } }),
    ];
    const frames = framed(events);
    expect(frames.find(({ type }) => type.endsWith('annotation.added'))).toMatchObject({
      item_id: 'msg_up',
      output_index: 1,
      content_index: 0,
    });
    expect(frames.filter(({ type }) => type === 'response.vendor.note')).toMatchObject([{ note: 1 }]);
    const whole_ = answer(events);
    expect(frames.at(-1)!['response']).toEqual(whole_);
    expect(whole_).toMatchObject({
      id: 'resp_0199aaaabbbbccccddddeeeeffff0000',
      prompt_cache_diagnostics: { type: 'hit' },
      vendor_score: 1,
      usage: { vendor_units: 2, input_tokens: 127 },
      output: [
        {
          id: 'rs_up',
          summary: [{ text: 'One.' }, { text: 'Two.' }],
          content: [{ type: 'reasoning_text', text: 'Raw.' }],
          encrypted_content: 'gAAA',
        },
        { id: 'msg_up', phase: 'final_answer', content: [{ text: 'Hi', annotations: [{ type: 'url_citation' }] }, { text: 'There' }] },
        { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } },
      ],
    });
  });
});
