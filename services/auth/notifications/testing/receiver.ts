// An endpoint for webhooks on loopback.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

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
  const server: Server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    received.push({ path: request.url ?? '', headers: request.headers, body });
    receiver.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}/hook?of=us`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
