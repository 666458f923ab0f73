// Detects when a server is ready.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 50;

/** Waits until the server sends its greeting on its socket. Returns false if `signal` aborts first. */
export async function waitForGreeting(socketPath: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    if (await sendsGreeting(socketPath)) return true;
    await delay(pollMs);
  }
  return false;
}

// A server accepts connections before it has run its init file, but sends its greeting only afterwards. The greeting's fifth byte is
// the protocol version, 10; an error has 255 there.
function sendsGreeting(socketPath: string): Promise<boolean> {
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
