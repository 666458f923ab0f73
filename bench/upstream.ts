// The vendor of the benchmark: answers chat completions with text of the length and pace that the prompt asks for
// ("tokens=240 delay=5ms", as the sandbox understands it too), at as little cost as possible.
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

// What is ready together is sent together: so many frames a write when no pace is set, as the sandbox does.
const framesPerWrite = 16;
const fixed = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_763_600_000, model: 'gpt-4.1-mini' };
const frame = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ ...fixed, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })}\n\n`;
const tokenFrame = frame({ content: ' token' }, null);

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const tokens = Number(/tokens=(\d+)/.exec(body)?.[1] ?? 8);
  const usage = { prompt_tokens: 8, completion_tokens: tokens, total_tokens: 8 + tokens };
  if (/"stream": ?true/.test(body)) return answerStreaming(response, tokens, Number(/delay=(\d+)ms/.exec(body)?.[1] ?? 0), usage);
  const message = { role: 'assistant', content: ' token'.repeat(tokens), refusal: null };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ ...fixed, object: 'chat.completion', choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }], usage }));
});

async function answerStreaming(response: ServerResponse, tokens: number, delayMs: number, usage: object): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.write(frame({ role: 'assistant', content: '' }, null));
  const step = delayMs > 0 ? 1 : framesPerWrite;
  for (let sent = 0; sent < tokens && !response.destroyed; sent += step) {
    response.write(tokenFrame.repeat(Math.min(step, tokens - sent)));
    await (delayMs > 0 ? sleep(delayMs) : nextTurn());
  }
  const last = `data: ${JSON.stringify({ ...fixed, choices: [], usage })}\n\n`;
  response.end(`${frame({}, 'stop')}${last}data: [DONE]\n\n`);
}

server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`));
