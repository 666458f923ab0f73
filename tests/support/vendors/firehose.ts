// An upstream that sends much more than fits into any buffer, as fast as it is read. How much it could write shows how much the
// gateway has read.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { close, listen } from '#kit/testing/local-server.js';

/** A running firehose, for both formats. */
export interface Firehose {
  readonly baseUrl: string;
  /** Bytes that its socket has accepted for the last call. */
  bytesTaken(): number;
  /** Waits until the last call's reader has read nothing for a while, or the call has ended. Returns the bytes sent until then. */
  stopped(quietMs: number): Promise<number>;
  stop(): Promise<void>;
}

/** Bytes of text in each event. */
const textBytes = 4096;

/** Starts a firehose whose answers have this many bytes of text. */
export async function startFirehose(answerBytes: number): Promise<Firehose> {
  let taken = 0;
  let isOver = true;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    taken = 0;
    isOver = false;
    response.once('close', () => (isOver = true));
    for await (const _ of request);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const { first, event, last } = framesOf(request.url!.startsWith('/v1/messages'));
    response.write(first);
    for (let bytes = 0; bytes < answerBytes && !response.destroyed; bytes += textBytes) {
      if (!response.write(event)) await new Promise<void>((resolve) => ['drain', 'close'].forEach((name) => response.once(name, resolve)));
      taken += event.length;
    }
    response.end(last);
  };

  const server = createServer((request, response) => void serve(request, response));
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    bytesTaken: () => taken,
    async stopped(quietMs) {
      for (let before = -1; before !== taken && !isOver;) {
        before = taken;
        await sleep(quietMs);
      }
      return taken;
    },
    stop: () => close(server),
  };
}

/** Returns the first frame, the event that is repeated, and the last frame. */
function framesOf(isMessages: boolean): Record<'first' | 'event' | 'last', string> {
  const text = 'word '.repeat(textBytes / 5);
  if (isMessages) {
    const frame = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'firehose',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 1 },
    };
    return {
      first: frame('message_start', { message }) + frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event: frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      last:
        frame('content_block_stop', { index: 0 }) +
        frame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } }) +
        frame('message_stop', {}),
    };
  }
  const chunk = (fields: object): string =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'firehose', ...fields })}\n\n`;
  const choice = (delta: object, finish_reason: string | null = null): string => chunk({ choices: [{ index: 0, delta, finish_reason }] });
  return {
    first: choice({ role: 'assistant', content: '' }),
    event: choice({ content: text }),
    last: `${choice({}, 'stop')}${chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 } })}data: [DONE]\n\n`,
  };
}
