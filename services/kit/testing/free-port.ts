// Ports for servers of tests.
import { createServer } from 'node:net';
import { listen } from './local-server.js';

/** Returns a TCP port of 127.0.0.1 that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
