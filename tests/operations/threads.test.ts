// A single process whose gateways run in several threads: what holds for a process holds for all of its threads together.
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { chat, createKey, settled, sumOfCharges } from '../support/clients/calls.js';
import { startKeepAlive } from '../support/clients/keep-alive.js';
import { eventually, freePort, root } from '../support/systems/process.js';
import { addUser, Browser, password } from '../support/clients/console.js';
import { startSystem, type System } from '../support/systems/system.js';

const threads = 2;

describe('a single process with several gateway threads', () => {
  let system: System | undefined;

  afterEach(async () => {
    await system?.stop();
    system = undefined;
  });

  const start = async (env: Record<string, string> = {}): Promise<System> =>
    (system = await startSystem('single', { TOLLGATE_GATEWAY_THREADS: String(threads), ...env }));

  /** Sends a small call on a connection of its own, which the kernel gives to any of the threads. Returns its status. */
  function freshCall(of: System, secret: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
      const sent = request(`${of.baseUrl}/v1/chat/completions`, {
        method: 'POST',
        agent: false,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      });
      sent.once('error', reject);
      sent.once('response', (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode!));
      });
      sent.end(body);
    });
  }

  /** Returns the threads that have logged requests of this route. */
  function threadsSeen(of: System): Set<number> {
    const lines = of.output().split('\n');
    return new Set(
      lines
        .filter((line) => line.includes('"route":"/v1/chat/completions"'))
        .map((line) => (JSON.parse(line) as { thread: number }).thread),
    );
  }

  /** Calls until every thread has served a call. Returns the number of calls. */
  async function callEveryThread(of: System, secret: string): Promise<number> {
    let calls = 0;
    await eventually(async () => {
      expect(await freshCall(of, secret)).toBe(200);
      calls += 1;
      return threadsSeen(of).size === threads ? true : undefined;
    });
    return calls;
  }

  /** Begins streams that take a while. The outcome of each is known when `ends` resolves. */
  async function streams(of: System, count: number, instructions: string) {
    const ids: string[] = [];
    const ends = Promise.all(
      Array.from({ length: count }, async () => {
        const response = await chat(of, of.firstKey, {
          model: 'sandbox/story',
          stream: true,
          max_tokens: 2000,
          messages: [{ role: 'user', content: instructions }],
        });
        const id = response.headers.get('x-request-id')!;
        ids.push(id);
        const isWhole = await response.text().then(
          (text) => text.includes('[DONE]'),
          () => false,
        );
        return { id, isWhole };
      }),
    );
    await eventually(() => (ids.length === count ? true : undefined));
    return { ends };
  }

  it('sums their metrics, shows the upstreams to an operator, revokes keys in all of them within a second, and counts connections together', async () => {
    const metrics = `127.0.0.1:${await freePort()}`;
    const of = await start({ TOLLGATE_SINGLE_METRICS_LISTEN: metrics, TOLLGATE_GATEWAY_CONNECTIONS_MAX: '20' });
    const { id, secret } = await createKey(of, 'revoked everywhere');
    const calls = await callEveryThread(of, secret);
    const text = await (await fetch(`http://${metrics}/metrics`)).text();
    const counted = text
      .split('\n')
      .filter((line) => line.startsWith('http_server_request_duration_seconds_count{') && line.includes('chat'));
    expect(counted).toHaveLength(1);
    expect(counted[0]!.split(' ').at(-1)).toBe(String(calls));

    await addUser(of, 'ada@example.com', password, '--operator');
    const ada = new Browser(of);
    await ada.signIn('ada@example.com', password);
    const { data } = await ada.get<{ data: { id: string }[] }>('/operator/upstreams');
    expect(data.map(({ id }) => id)).toContain('sandbox');

    await of.cli('key', 'revoke', id);
    // Some of so many connections go to each thread; a few at a time, because a thread takes ten. A busy machine may need longer than a second, but a
    // thread that was not told of the change would know the key for minutes.
    await eventually(async () => {
      for (let sent = 0; sent < 30; sent += 5)
        expect(new Set(await Promise.all(Array.from({ length: 5 }, () => freshCall(of, secret))))).toEqual(new Set([401]));
      return true;
    }, 10_000);

    const sockets = Array.from({ length: 30 }, () => connect(Number(new URL(of.baseUrl).port), '127.0.0.1'));
    let closed = 0;
    for (const socket of sockets) socket.on('error', () => undefined).once('close', () => (closed += 1));
    // Connections of the calls above may not be closed yet.
    await eventually(() => (closed >= 10 ? true : undefined));
    await sleep(200);
    expect(closed).toBeLessThan(20);
    for (const socket of sockets) socket.destroy();
  }, 120_000);

  it('loses only the calls of a thread that ends, charges them up to their last checkpoint, and starts it again', async () => {
    const of = await start({
      NODE_OPTIONS: `--import=${join(root, 'tests/support/systems/end-thread.ts')}`,
      TEST_END_THREAD: join(root, 'node_modules/.cache', `end-thread-${process.pid}`),
      TOLLGATE_METERING_LEASE: '6s',
      TOLLGATE_METERING_SWEEP_INTERVAL: '200ms',
      TOLLGATE_METERING_LOST_GRACE: '0ms',
      TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '100ms',
      TOLLGATE_GATEWAY_HOLD_TTL: '10s',
      TOLLGATE_METERING_HOLD_TTL: '10s',
    });
    const { id: accountId } = await of.json<{ id: string }>('account', 'list');
    const { ends } = await streams(of, 24, 'delay=20ms tokens=300');
    // Each call has output and checkpoints by then.
    await sleep(3000);
    writeFileSync(join(root, 'node_modules/.cache', `end-thread-${process.pid}.1`), '');
    const all = await ends;
    const lost = all.filter(({ isWhole }) => !isWhole);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.length).toBeLessThan(all.length);

    const { rows, balance } = await settled(of, accountId, all.length, 40_000);
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(rows).toHaveLength(all.length);
    for (const { id, isWhole } of all) expect(byId.get(id)).toMatchObject({ outcome: isWhole ? 'completed' : 'gateway_lost' });
    for (const { id } of lost) {
      expect(byId.get(id)!.output_tokens).toBeGreaterThan(0);
      expect(byId.get(id)!.output_tokens).toBeLessThan(300);
    }
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await of.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });

    expect(of.output()).toContain('a gateway thread ended unexpectedly');
    // Only the other thread has completed calls so far.
    expect(threadsSeen(of)).toEqual(new Set([2]));
    await callEveryThread(of, of.firstKey);
  }, 120_000);

  it('lets the calls of all threads complete when it stops, and ends each connection with an answer that says so', async () => {
    // A busy machine needs more than a second to call on each connection once more.
    const of = await start({ TOLLGATE_LAME_DUCK: '4s' });
    await callEveryThread(of, of.firstKey);
    const load = startKeepAlive({ baseUrl: of.baseUrl, key: of.firstKey, connections: 8, untilClosed: true });
    const { ends } = await streams(of, 16, 'delay=50ms tokens=100');
    expect(await of.end()).toBe(0);
    expect(await load.stop()).toMatchObject({ failed: [], closed: 8 });
    expect((await ends).filter(({ isWhole }) => !isWhole)).toEqual([]);
    await of.start();
    const { id: accountId } = await of.json<{ id: string }>('account', 'list');
    const { rows } = await settled(of, accountId, 16);
    expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
  }, 120_000);
});
