// Free loopback ports for processes that may be started again on them.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';

// Free ports are taken from between these. From the second on the system gives them to whoever connects somewhere or asks for any
// port, so that a process that was killed could find its own taken when it is started again, by somebody who stays.
const freeFrom = 10_240;
const givenAwayFromDefault = 32_768;
const leastRoom = 1000;
const triesMax = 50;

/** A TCP port of 127.0.0.1 that nobody listens on now, and that nobody is given by chance later. */
export async function freePort(): Promise<number> {
  const { port, server } = await listenAnywhere();
  await new Promise((done) => server.close(done));
  return port;
}

/** A server on such a port, which keeps it from others until it is closed. */
export async function listenAnywhere(): Promise<{ port: number; server: Server }> {
  const below = givenAwayFrom();
  for (let tries = 1; ; tries += 1) {
    const port = randomInt(freeFrom, below);
    try {
      return { port, server: await listenOn(port) };
    } catch (error) {
      if (tries >= triesMax) throw error;
    }
  }
}

/** A server on this port of 127.0.0.1. Raises the system's error when it cannot be had. */
export function listenOn(port: number): Promise<Server> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once('error', failed).listen(port, '127.0.0.1', () => done(server));
  });
}

/** The first port that the system gives away; the end of all ports where it gives away nearly all of them, which leaves no better choice. */
function givenAwayFrom(): number {
  let first = givenAwayFromDefault;
  try {
    first = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
  } catch {
    // Not Linux.
  }
  return first >= freeFrom + leastRoom ? first : 65_536;
}
