// Free ports, and the moment from which a server answers.
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 50;

/** A TCP port of 127.0.0.1 that nobody listens on now. */
export function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

/** Waits until the server greets on its socket; false when `gaveUp` aborts before that. */
export async function greets(socketPath: string, gaveUp: AbortSignal): Promise<boolean> {
  while (!gaveUp.aborted) {
    if (await greetsNow(socketPath)) return true;
    await delay(pollMs);
  }
  return false;
}

// A server accepts connections before it has run its init file, but greets only after it. The greeting's fifth byte is the version
// of the protocol, 10; an error has 255 there.
function greetsNow(socketPath: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(socketPath);
    socket.setTimeout(1000);
    const end = (greeted: boolean): void => {
      socket.destroy();
      done(greeted);
    };
    socket.once('data', (bytes) => end(bytes[4] === 10));
    socket.once('timeout', () => end(false));
    socket.once('close', () => end(false));
    socket.once('error', () => end(false));
  });
}
