import { describe, expect, it } from '@jest/globals';
import { answerFaults, errorFaults, streamFaults, tokenCountFaults } from './check-answer.js';

type Choice = { index: number; delta: Record<string, unknown> | null; finish_reason: string | null };

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
const choice = (delta: Choice['delta'], finish: string | null = null): Choice => ({ index: 0, delta, finish_reason: finish });
const chunk = (...choices: Choice[]): object => ({ ...head, choices });
const call = (index: number, fields: object): Choice => choice({ tool_calls: [{ index, ...fields }] });
const opening = (index: number): Choice => call(index, { id: `c${index}`, type: 'function', function: { name: 'f', arguments: '' } });
const role = chunk(choice({ role: 'assistant', content: '' }));
const stop = chunk(choice({}, 'stop'));
const sse = (...chunks: unknown[]): string =>
  chunks.map((data) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('');

describe('the checker of chat-completions streams', () => {
  it('accepts a correct one', () => {
    const tools = [opening(0), call(0, { function: { arguments: '{' } }), opening(1), call(0, { function: { arguments: '}' } })].map(
      (one) => chunk(one),
    );
    expect(streamFaults('chat-completions', `: hi\n\n${sse(role, chunk(choice({ content: 'a' })), stop, '[DONE]')}`)).toEqual([]);
    expect(streamFaults('chat-completions', sse(role, ...tools, chunk(choice({}, 'tool_calls')), '[DONE]'))).toEqual([]);
    expect(
      streamFaults('chat-completions', sse({ ...role, usage: null }, { ...stop, usage: null }, { ...chunk(), usage }, '[DONE]'), {
        includeUsage: true,
      }),
    ).toEqual([]);
    expect(streamFaults('chat-completions', sse(role, { error: { message: 'm', type: 't', param: null, code: null } }))).toEqual([]);
  });

  const many = (...choices: Choice[]): string => sse(role, ...choices.map((one) => chunk(one)), chunk(choice({}, 'tool_calls')), '[DONE]');
  it.each<[string, string, boolean?]>([
    ['without [DONE]', sse(role, stop)],
    ['cut in the middle of a frame', sse(role, stop, '[DONE]').slice(0, -1)],
    ['with an event line', `event: x\n${sse(role, stop, '[DONE]')}`],
    ['with empty data', `${sse(role, stop)}data: \n\n${sse('[DONE]')}`],
    ['with what is no chunk', sse(role, { type: 'ping' }, stop, '[DONE]')],
    ['without a role', sse(chunk(choice({ content: 'a' })), stop, '[DONE]')],
    ['with the role again', sse(role, role, stop, '[DONE]')],
    ['without a finish reason', sse(role, '[DONE]')],
    ['with two finish reasons', sse(role, stop, stop, '[DONE]')],
    ['with the other format’s stop reason', sse(role, chunk(choice({}, 'end_turn')), '[DONE]')],
    ['that goes on after its finish', sse(role, stop, chunk(choice({ content: 'a' })), '[DONE]')],
    ['that goes on after its end', sse(role, stop, '[DONE]', role)],
    ['with error: null', sse({ ...role, error: null }, stop, '[DONE]')],
    ['with choices: null', sse(role, { ...head, choices: null }, stop, '[DONE]')],
    ['with delta: null', sse(role, chunk(choice(null)), stop, '[DONE]')],
    ['whose id changes', sse(role, { ...stop, id: 'chatcmpl-2' }, '[DONE]')],
    ['with usage that was not requested', sse(role, stop, { ...chunk(), usage }, '[DONE]')],
    ['with usage beside choices', sse({ ...role, usage: null }, { ...stop, usage }, '[DONE]'), true],
    ['without the requested usage', sse({ ...role, usage: null }, { ...stop, usage: null }, '[DONE]'), true],
    ['without usage: null before', sse(role, { ...stop, usage: null }, { ...chunk(), usage }, '[DONE]'), true],
    [
      'with a call without an index',
      many({ ...choice({ tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] }) }),
    ],
    ['with a call without a type', many(call(0, { id: 'a', function: { name: 'f', arguments: '' } }))],
    ['with an id twice', many(opening(0), call(0, { id: 'c0', function: { arguments: '{}' } }))],
    ['with a name twice', many(opening(0), call(0, { function: { name: 'f', arguments: '{}' } }))],
    ['with arguments: null', many(opening(0), call(0, { function: { arguments: null } }))],
    ['with an index gap', many(opening(1))],
    ['with empty tool_calls', many(opening(0), choice({ tool_calls: [] }))],
    ['that calls tools but says stop', sse(role, chunk(opening(0)), stop, '[DONE]')],
    ['that says it calls tools but does not', sse(role, chunk(choice({}, 'tool_calls')), '[DONE]')],
    ['with an error of text', sse(role, { error: 'broke' })],
  ])('detects one %s', (_name, text, includeUsage = false) => {
    expect(streamFaults('chat-completions', text, { includeUsage })).not.toEqual([]);
  });

  it('allows upstreams of the format to use values of their own', () => {
    const text = sse(role, chunk(choice({}, 'new_word')), '[DONE]');
    expect(streamFaults('chat-completions', text)).not.toEqual([]);
    expect(streamFaults('chat-completions', text, { native: true })).toEqual([]);
  });
});

const messageUsage = {
  input_tokens: 1,
  output_tokens: 1,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens_details: { thinking_tokens: 0 },
  cache_creation: null,
  server_tool_use: null,
  service_tier: 'standard',
  inference_geo: null,
  speed: 'standard',
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [] as object[],
  container: null,
  diagnostics: null,
  stop_reason: null as string | null,
  stop_sequence: null,
  stop_details: null,
  usage: messageUsage,
};
type Event = { type: string; [field: string]: unknown };
const begin: Event = { type: 'message_start', message };
const open = (index: number, block: object): Event => ({ type: 'content_block_start', index, content_block: block });
const piece = (index: number, delta: object): Event => ({ type: 'content_block_delta', index, delta });
const close = (index: number): Event => ({ type: 'content_block_stop', index });
const text = { type: 'text', text: '', citations: null };
const thinking = { type: 'thinking', thinking: '', signature: '' };
const toolUse = { type: 'tool_use', id: 'a', name: 'f', input: {}, caller: { type: 'direct' } };
const a = { type: 'text_delta', text: 'a' };
const end = (reason: string | null = 'end_turn', usageTold: object | undefined = messageUsage): Event => ({
  type: 'message_delta',
  delta: { stop_reason: reason, stop_sequence: null },
  usage: usageTold,
});
const last: Event = { type: 'message_stop' };
const events = (...list: Event[]): string => list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

describe('the checker of messages streams', () => {
  it('accepts a correct one', () => {
    const blocks = [
      open(0, thinking),
      piece(0, { type: 'signature_delta', signature: 's' }),
      close(0),
      open(1, text),
      piece(1, a),
      close(1),
      open(2, toolUse),
      close(2),
    ];
    expect(streamFaults('messages', events(begin, { type: 'ping' }, ...blocks, end('tool_use'), last))).toEqual([]);
    expect(streamFaults('messages', events(begin, open(0, text), { type: 'error', error: { type: 'api_error', message: 'm' } }))).toEqual(
      [],
    );
  });

  const around = (...blocks: Event[]): string => events(begin, ...blocks, end(), last);
  it.each<[string, string]>([
    ['of data only', sse(begin, end(), last)],
    ['with the wrong event line', `event: ping\ndata: ${JSON.stringify(begin)}\n\n${events(end(), last)}`],
    ['without message_stop', events(begin, end())],
    ['without message_delta', events(begin, last)],
    ['with two message_starts', events(begin, begin, end(), last)],
    ['that goes on after its end', events(begin, end(), last, { type: 'ping' })],
    ['that begins with a block', events(open(0, text), begin, end(), last)],
    ['whose start has no usage', events({ type: 'message_start', message: { ...message, usage: undefined } }, end(), last)],
    ['whose start has content', events({ type: 'message_start', message: { ...message, content: [{ ...text, text: 'a' }] } }, end(), last)],
    ['whose last usage is missing', events(begin, { ...end(), usage: undefined }, last)],
    ['whose last usage is not whole', events(begin, end('end_turn', { output_tokens: 1 }), last)],
    ['without a stop reason', events(begin, end(null), last)],
    ['with the other format’s finish reason', events(begin, end('stop'), last)],
    ['with an index gap', around(open(1, text), piece(1, a), close(1))],
    ['with two open blocks', around(open(0, text), piece(0, a), open(1, text), piece(1, a), close(1), close(0))],
    ['with a delta before its block', around(piece(0, a), open(0, text), close(0))],
    ['with a delta of another type', around(open(0, thinking), piece(0, a), close(0))],
    ['with a block left open', around(open(0, text), piece(0, a))],
    ['with an empty text', around(open(0, text), close(0))],
    ['with a text that begins without its field', around(open(0, { type: 'text', citations: null }), piece(0, a), close(0))],
    ['with a block that opens full', around(open(0, { ...text, text: 'a' }), piece(0, a), close(0))],
    ['with input of text', events(begin, open(0, { ...toolUse, input: '' }), close(0), end('tool_use'), last)],
    ['with a tool id of another vendor', events(begin, open(0, { ...toolUse, id: 'f:0' }), close(0), end('tool_use'), last)],
    [
      'with thinking after its signature',
      around(
        open(0, thinking),
        piece(0, { type: 'signature_delta', signature: 's' }),
        piece(0, { type: 'thinking_delta', thinking: 'a' }),
        close(0),
      ),
    ],
    ['that calls tools but says it is done', around(open(0, toolUse), close(0))],
    ['with a block no other format has', around(open(0, { type: 'server_tool_use', id: 'a', name: 'f', input: {} }), close(0))],
    ['with an event of its own', events(begin, { type: 'new' }, end(), last)],
  ])('detects one %s', (_name, stream) => {
    expect(streamFaults('messages', stream)).not.toEqual([]);
  });

  it('allows upstreams of the format to use values of their own', () => {
    const stream = events(begin, { type: 'new' }, open(0, { type: 'new' }), piece(0, { type: 'new_delta' }), close(0), end('new'), last);
    expect(streamFaults('messages', stream)).not.toEqual([]);
    expect(streamFaults('messages', stream, { native: true })).toEqual([]);
  });
});

describe('the checker of bodies', () => {
  const completion = {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant', content: 'a', refusal: null } }],
    usage,
  };
  const answer = { ...message, content: [{ ...text, text: 'a' }], stop_reason: 'end_turn' };

  it('accepts correct ones', () => {
    expect(answerFaults('chat-completions', completion)).toEqual([]);
    expect(answerFaults('messages', answer)).toEqual([]);
    expect(errorFaults('chat-completions', { error: { message: 'm', type: 't', param: null, code: 'c' } })).toEqual([]);
    expect(errorFaults('messages', { type: 'error', error: { type: 'api_error', message: 'm' }, request_id: 'r' })).toEqual([]);
    expect(tokenCountFaults({ input_tokens: 3 })).toEqual([]);
  });

  it('detects what is missing or belongs to the other format', () => {
    expect(answerFaults('chat-completions', { ...completion, choices: [{ ...completion.choices[0], logprobs: undefined }] })).not.toEqual(
      [],
    );
    expect(answerFaults('chat-completions', answer)).not.toEqual([]);
    expect(answerFaults('messages', completion)).not.toEqual([]);
    expect(answerFaults('messages', { ...answer, content: [text] })).not.toEqual([]);
    expect(answerFaults('messages', { ...answer, stop_reason: null })).not.toEqual([]);
    expect(errorFaults('chat-completions', { error: { message: 'm', type: 't' } })).not.toEqual([]);
    expect(errorFaults('messages', { type: 'error', error: { type: 'server_error', message: 'm' } })).not.toEqual([]);
    expect(tokenCountFaults({ tokens: 3 })).not.toEqual([]);
  });
});
