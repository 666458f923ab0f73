// Finds free loopback ports for processes that may be restarted on the same port.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';

// Ports are chosen between these two bounds. The second is the start of the ephemeral range, whose ports the system assigns to outgoing
// connections and to servers that request any port; a killed process could find its port taken by one of them when it is restarted.
const freeFrom = 10_240;
const ephemeralFromDefault = 32_768;
const roomMin = 1000;
const triesMax = 50;

/** Returns a TCP port of 127.0.0.1 that is free now and outside the ephemeral range, so that the system does not assign it later. */
export async function freePort(): Promise<number> {
  const { port, server } = await listenAnywhere();
  await new Promise((done) => server.close(done));
  return port;
}

/** Returns a server that listens on such a port, which reserves the port until the server is closed. */
export async function listenAnywhere(): Promise<{ port: number; server: Server }> {
  const below = ephemeralFrom();
  for (let tries = 1; ; tries += 1) {
    const port = randomInt(freeFrom, below);
    try {
      return { port, server: await listenOn(port) };
    } catch (error) {
      if (tries >= triesMax) throw error;
    }
  }
}

/** Returns a server that listens on this port of 127.0.0.1. Raises the system's error if the port cannot be used. */
export function listenOn(port: number): Promise<Server> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once('error', failed).listen(port, '127.0.0.1', () => done(server));
  });
}

/** Returns the first port of the ephemeral range, or the end of all ports if that range covers nearly all of them and leaves no choice. */
function ephemeralFrom(): number {
  let first = ephemeralFromDefault;
  try {
    first = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
  } catch {
    // Not Linux.
  }
  return first >= freeFrom + roomMin ? first : 65_536;
}
