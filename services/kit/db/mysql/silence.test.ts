// What happens to statements whose server is silent. A listener plays the server: the system accepts connections for a stopped process too.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '../../testing/local-server.js';
import { untilTrue } from '../../testing/waiting.js';
import type { MysqlHost } from './address.js';
import { isDead } from './probe.js';
import { isSame, SilenceWatch, type WatchedConnection } from './silence.js';

const login = { user: 'me', password: 'secret' };
const tooManyConnections = Buffer.concat([Buffer.from([23, 0, 0, 0, 0xff, 0x10, 0x04]), Buffer.from('Too many connections')]);

describe('a statement that waits', () => {
  const sockets = new Set<Socket>();
  let greeting: Buffer | undefined;
  let probes = 0;
  let server: Server;
  let host: MysqlHost;
  let watch: SilenceWatch;
  let dead: MysqlHost[] = [];
  /** The servers that the watch probed, in order, and how many it probed at once. */
  let probed: MysqlHost[];
  let probing: number;
  let mostProbing: number;

  beforeEach(async () => {
    probes = 0;
    dead = [];
    [probed, probing, mostProbing] = [[], 0, 0];
    server = createServer((socket) => {
      probes += 1;
      sockets.add(socket.on('error', () => undefined));
      if (greeting !== undefined) socket.write(greeting);
    });
    host = { host: '127.0.0.1', port: await listen(server) };
    watch = new SilenceWatch({
      silenceMs: 40,
      // A server that responds may need long for it on a busy machine.
      async isDead(each) {
        probed.push(each);
        probing += 1;
        mostProbing = Math.max(mostProbing, probing);
        const found = await (isSame(each, host) ? isDead(each, login, greeting === undefined ? 100 : 10_000) : false);
        probing -= 1;
        return found;
      },
      onDead: (each) => dead.push(each),
    });
  });

  afterEach(async () => {
    watch.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });

  /** A connection that does not respond by itself; its statement fails with the error that the connection is destroyed with. */
  function send(config: MysqlHost): { ended: Promise<Error | null>; destroyed: boolean; answer(): void; close(): void } {
    let done: (error: Error | null) => void = () => undefined;
    let close = (): void => undefined;
    const connection: WatchedConnection = {
      config,
      stream: {
        destroy: (error) => {
          sent.destroyed = true;
          done(error);
        },
        once: (_, closed) => (close = closed),
      },
      query: (...args) => (done = args.at(-1) as typeof done),
    };
    watch.watch(connection);
    const sent = {
      ended: new Promise<Error | null>((resolve) => connection.query('SELECT 1', resolve)),
      destroyed: false,
      answer: () => done(null),
      close: () => close(),
    };
    return sent;
  }

  it('fails when its server is silent, and keeps waiting on another server', async () => {
    greeting = undefined;
    const [fine, lost] = [send({ ...host, host: 'elsewhere' }), send(host)];
    expect(await lost.ended).toMatchObject({ code: 'ETIMEDOUT' });
    expect(fine.destroyed).toBe(false);
    expect(dead).toEqual([host]);
  });

  it('is not ended when its server responds, even with an error', async () => {
    greeting = tooManyConnections;
    const slow = send(host);
    await untilTrue(() => probes >= 3);
    expect(probes).toBeGreaterThanOrEqual(3);
    expect([slow.destroyed, dead]).toEqual([false, []]);
  });

  it('triggers no probe when its connection was closed', async () => {
    greeting = tooManyConnections;
    const given = send(host);
    await untilTrue(() => probes >= 1);
    given.close();
    const before = probes;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(probes - before).toBeLessThanOrEqual(1);
  });

  it('triggers no probe once it has a response', async () => {
    greeting = undefined;
    const answered = { ...host, host: 'answered' };
    send(answered).answer();
    await send(host).ended;
    expect(probed).toEqual([host]);
  });

  it('shares one probe with other statements on its server', async () => {
    greeting = undefined;
    const others = [1, 2].map((port) => ({ ...host, port }));
    // The host comes last: then the same round probes the others, even if they have waited for a moment longer and were probed before.
    const sent = [...others, ...others, host, host].map((each) => send(each));
    await Promise.all(sent.slice(-2).map(({ ended }) => ended));
    expect([probed.slice(-3), mostProbing, dead]).toEqual([[...others, host], 3, [host]]);
  });
});
