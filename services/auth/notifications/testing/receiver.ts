// An endpoint for webhooks on loopback.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { close, listen } from '#kit/testing/local-server.js';

/** Holds a request that a receiver got. */
interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Holds an endpoint for webhooks. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Determines the response from now on. */
  answer: (response: ServerResponse) => void;
  stop(): Promise<void>;
}

/** Starts a receiver on loopback that responds with 200. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const receiver = {
    received,
    answer: (response: ServerResponse): void => void response.end('thanks'),
  };
  const server = createServer(async (request, response) => {
    received.push({ path: request.url ?? '', headers: request.headers, body: await text(request) });
    receiver.answer(response);
  });
  const port = await listen(server);
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}/hook?of=us`,
    stop: () => close(server),
  });
}
