// The vendor of the benchmark: answers chat completions, and messages as streams, with text of the length and pace that the prompt requests
// ("tokens=240 delay=5ms", as for the sandbox), using as little CPU as possible.
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

// Frames per write if no pace is set, the same as in the sandbox.
const framesPerWrite = 16;
const fixed = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_763_600_000, model: 'gpt-4.1-mini' };
const frame = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ ...fixed, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })}\n\n`;
const tokenFrame = frame({ content: ' token' }, null);

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
const tokenEvent = event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ' token' } });

interface Frames {
  readonly first: string;
  readonly token: string;
  last(tokens: number): string;
}

const chatFrames: Frames = {
  first: frame({ role: 'assistant', content: '' }, null),
  token: tokenFrame,
  last: (tokens) => `${frame({}, 'stop')}data: ${JSON.stringify({ ...fixed, choices: [], usage: usageOf(tokens) })}\n\ndata: [DONE]\n\n`,
};
const messagesFrames: Frames = {
  first: event('message_start', { message }) + event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  token: tokenEvent,
  last: (tokens) =>
    event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { input_tokens: 8, output_tokens: tokens } }) +
    event('message_stop', {}),
};

function usageOf(tokens: number): object {
  return { prompt_tokens: 8, completion_tokens: tokens, total_tokens: 8 + tokens };
}

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const tokens = Number(/tokens=(\d+)/.exec(body)?.[1] ?? 8);
  const frames = request.url === '/v1/messages' ? messagesFrames : chatFrames;
  if (/"stream": ?true/.test(body)) return answerStreaming(response, frames, tokens, Number(/delay=(\d+)ms/.exec(body)?.[1] ?? 0));
  const whole = { role: 'assistant', content: ' token'.repeat(tokens), refusal: null };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      ...fixed,
      object: 'chat.completion',
      choices: [{ index: 0, message: whole, logprobs: null, finish_reason: 'stop' }],
      usage: usageOf(tokens),
    }),
  );
});

async function answerStreaming(response: ServerResponse, { first, token, last }: Frames, tokens: number, delayMs: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.write(first);
  const step = delayMs > 0 ? 1 : framesPerWrite;
  for (let sent = 0; sent < tokens && !response.destroyed; sent += step) {
    response.write(token.repeat(Math.min(step, tokens - sent)));
    await (delayMs > 0 ? sleep(delayMs) : nextTurn());
  }
  response.end(last(tokens));
}

server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`));
