// The vendor of the benchmark: answers chat completions, messages and responses with text of the length and pace that the prompt requests
// ("tokens=240 delay=5ms", as for the sandbox), using as little CPU as possible. Also receives telemetry, and discards it.
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

// Frames per write if no pace is set, the same as in the sandbox.
const framesPerWrite = 16;
// Not one word only, because some gateways end a stream that repeats itself.
const words = [' token', ' after', ' token', ' again'];
const fixed = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_763_600_000, model: 'gpt-4.1-mini' };
const frame = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ ...fixed, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })}\n\n`;

const event = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const message = {
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 8, output_tokens: 1 },
};

interface Answers {
  readonly first: string;
  readonly tokens: readonly string[];
  last(tokens: number): string;
  whole(tokens: number): string;
}

const chatAnswers: Answers = {
  first: frame({ role: 'assistant', content: '' }, null),
  tokens: words.map((content) => frame({ content }, null)),
  last: (tokens) => `${frame({}, 'stop')}data: ${JSON.stringify({ ...fixed, choices: [], usage: usageOf(tokens) })}\n\ndata: [DONE]\n\n`,
  whole: (tokens) =>
    JSON.stringify({
      ...fixed,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: ' token'.repeat(tokens), refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: usageOf(tokens),
    }),
};
const messagesAnswers: Answers = {
  first: event('message_start', { message }) + event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  tokens: words.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
  last: (tokens) =>
    event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { input_tokens: 8, output_tokens: tokens } }) +
    event('message_stop', {}),
  whole: (tokens) =>
    JSON.stringify({
      ...message,
      content: [{ type: 'text', text: ' token'.repeat(tokens) }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 8, output_tokens: tokens },
    }),
};

const part = (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const item = (status: string, content: object[]): object => ({ id: 'msg_bench', type: 'message', role: 'assistant', status, content });
const response = (status: string, output: object[], usage: object | null): object => ({
  id: 'resp_bench',
  object: 'response',
  created_at: 1_763_600_000,
  model: 'responses',
  status,
  output,
  usage,
});
const completed = (text: string, tokens: number): object =>
  response('completed', [item('completed', [part(text)])], { input_tokens: 8, output_tokens: tokens, total_tokens: 8 + tokens });
const place = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
const responsesAnswers: Answers = {
  first:
    event('response.created', { response: response('in_progress', [], null) }) +
    event('response.output_item.added', { output_index: 0, item: item('in_progress', []) }) +
    event('response.content_part.added', { ...place, part: part('') }),
  tokens: words.map((delta) => event('response.output_text.delta', { ...place, delta, logprobs: [] })),
  last(tokens) {
    const text = Array.from({ length: tokens }, (_, index) => words[index % words.length]).join('');
    return (
      event('response.output_text.done', { ...place, text, logprobs: [] }) +
      event('response.content_part.done', { ...place, part: part(text) }) +
      event('response.output_item.done', { output_index: 0, item: item('completed', [part(text)]) }) +
      event('response.completed', { response: completed(text, tokens) })
    );
  },
  whole: (tokens) => JSON.stringify(completed(' token'.repeat(tokens), tokens)),
};
const answersByPath: Readonly<Record<string, Answers>> = { '/v1/messages': messagesAnswers, '/v1/responses': responsesAnswers };

function usageOf(tokens: number): object {
  return { prompt_tokens: 8, completion_tokens: tokens, total_tokens: 8 + tokens };
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (/^\/v1\/(traces|metrics|logs)$/.test(request.url!))
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  if (request.url === '/v1/models')
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id":"responses"}]}');
  const body = Buffer.concat(chunks).toString('latin1');
  const tokens = Number(/tokens=(\d+)/.exec(body)?.[1] ?? 8);
  const answers = answersByPath[request.url!] ?? chatAnswers;
  if (/"stream": ?true/.test(body)) return answerStreaming(response, answers, tokens, Number(/delay=(\d+)ms/.exec(body)?.[1] ?? 0));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(answers.whole(tokens));
});

async function answerStreaming(
  response: ServerResponse,
  { first, tokens: texts, last }: Answers,
  tokens: number,
  delayMs: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.write(first);
  const step = delayMs > 0 ? 1 : framesPerWrite;
  for (let sent = 0; sent < tokens && !response.destroyed; sent += step) {
    response.write(Array.from({ length: Math.min(step, tokens - sent) }, (_, index) => texts[(sent + index) % texts.length]).join(''));
    await (delayMs > 0 ? sleep(delayMs) : nextTurn());
  }
  response.end(last(tokens));
}

server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`));
