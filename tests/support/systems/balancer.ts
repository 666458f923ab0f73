// A TCP load balancer that follows /readyz, as those in front of gateways do: new connections go to gateways that are ready, open ones stay.
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '#kit/testing/local-server.js';

/** A running balancer. */
export interface Balancer {
  readonly baseUrl: string;
  /** Reports whether new connections go to this gateway. */
  serves(gatewayUrl: string): boolean;
  stop(): Promise<void>;
}

const intervalMs = 100;

/** Starts a balancer that queries each gateway every `intervalMs`. */
export async function startBalancer(gatewayUrls: readonly string[]): Promise<Balancer> {
  let ready: string[] = [];
  let turn = 0;
  let isStopping = false;
  const open = new Set<Socket>();

  const isReady = (url: string): Promise<boolean> =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) }).then(
      async (response) => {
        await response.body?.cancel();
        return response.status === 200;
      },
      () => false,
    );
  // Each gateway by itself: one that answers late must not delay what is known of the others.
  const follow = async (url: string): Promise<void> => {
    for (; !isStopping; await sleep(intervalMs)) {
      const isNow = await isReady(url);
      if (isNow !== ready.includes(url)) ready = isNow ? [...ready, url] : ready.filter((other) => other !== url);
    }
  };

  /** Connects to the next gateway, and to another one if nothing listens there. */
  function pass(client: Socket, attempts = ready.length): void {
    const url = ready[(turn += 1) % Math.max(1, ready.length)];
    if (url === undefined || attempts === 0) {
      client.destroy();
      return;
    }
    const { hostname, port } = new URL(url);
    const gateway = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
    const passOn = (): void => pass(client, attempts - 1);
    gateway.once('error', passOn);
    gateway.once('connect', () => {
      gateway.off('error', passOn);
      join(client, gateway);
    });
  }

  function join(client: Socket, gateway: Socket): void {
    for (const [from, to] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      open.add(from);
      from.on('error', () => to.destroy());
      from.once('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) => {
    client.on('error', () => client.destroy());
    pass(client);
  });
  const port = await listen(server);
  const following = Promise.all(gatewayUrls.map(follow));
  while (ready.length === 0) await sleep(intervalMs);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    serves: (gatewayUrl) => ready.includes(gatewayUrl),
    async stop() {
      isStopping = true;
      await following;
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
