// The counts of two gateways in one Redis.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { createClient } from '@redis/client';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '#kit/clock.js';
import { collectMetrics, type Distribution } from '#kit/telemetry/metrics.js';
import { recordingLogger, silentLog as log } from '#kit/testing/log.js';
import { recordTraces } from '#kit/testing/traces.js';
import { type SupervisedRedis, superviseRedis } from '../../deploy/distributed/redis.js';
import type { LimitStore } from '../../gateway/limits/limiter.js';
import type { Checked, Subject } from '../../gateway/limits/limits.js';
import { redisLimitStore } from '../../gateway/limits/redis-store.js';
import { eventually, freePort } from '../support/systems/process.js';

const recorded = recordingLogger();
const local: LimitStore = {
  take() {
    throw new Error('Nothing is counted locally in this test.');
  },
};

describe('the counts of gateways in Redis', () => {
  let folder: string;
  let redis: SupervisedRedis;
  let redisPid: number;
  const stores: LimitStore[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-redis-'));
    redis = superviseRedis({ folder, port: await freePort(), log, restartDelayMs: 300 }, (pid) => (redisPid = pid));
    await redis.start();
    for (let count = 0; count < 2; count += 1) {
      const store = redisLimitStore({
        url: redis.url,
        withoutRedis: 'refuse',
        local,
        clock: systemClock,
        log: count === 0 ? recorded.log : log,
      });
      await store.start!();
      stores.push(store);
      await eventually(async () => (await take(count, [subject({ requests: 1 })])).refusal === undefined || undefined);
    }
  });

  afterAll(async () => {
    for (const store of stores) await store.stop?.();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  let subjects = 0;
  function subject(limits: Partial<Pick<Subject, 'requests' | 'tokens' | 'concurrent'>>): Subject {
    subjects += 1;
    const none = { requests: undefined, tokens: undefined, concurrent: undefined };
    return { scope: 'key', id: `key_${subjects}`, hash: [subjects, subjects], ...none, ...limits };
  }
  const take = async (gateway: number, of: readonly Subject[], tokens = 1): Promise<Checked> =>
    stores[gateway]!.take(of, { tokens }, Date.now());
  async function admitted(gateway: number, of: readonly Subject[], tokens = 1): Promise<Extract<Checked, { end: unknown }>> {
    const checked = await take(gateway, of, tokens);
    if (checked.refusal !== undefined) throw new Error(`refused by the limit of ${checked.refusal.limit}`);
    return checked;
  }

  it('are added up, and a refusal says when a request will have left the window', async () => {
    const key = subject({ requests: 3 });
    for (const gateway of [0, 1, 0]) await admitted(gateway, [key]);
    const { refusal, figures } = await take(1, [key]);
    expect(refusal).toMatchObject({ limit: 'requests', max: 3, used: 3, needed: 1 });
    expect(refusal!.retryAfterMs).toBeGreaterThan(50_000);
    expect(refusal!.retryAfterMs).toBeLessThanOrEqual(60_500);
    expect(figures[0]!.requestsResetMs).toBeGreaterThanOrEqual(refusal!.retryAfterMs!);
  });

  it('are traced in a span of the call, and timed', async () => {
    const traces = recordTraces();
    const traceId = await trace.getTracer('test').startActiveSpan('call', async (span) => {
      await admitted(0, [subject({ requests: 3 })]);
      return span.spanContext().traceId;
    });
    const taken = traces.spans().find(({ name }) => name === 'EVALSHA take')!;
    await traces.stop();
    expect(taken.spanContext().traceId).toBe(traceId);
    expect(taken.attributes).toMatchObject({ 'db.system.name': 'redis', 'server.address': '127.0.0.1', 'server.port': expect.any(Number) });
    const durations = (await collectMetrics()).find(({ name }) => name === 'db.client.operation.duration')!;
    expect(durations.series.map(({ labels }) => labels)).toContainEqual(
      expect.objectContaining({ 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' }),
    );
  });

  it('contain the estimate of a call until it ends, then its usage', async () => {
    const key = subject({ tokens: 1000 });
    const first = await admitted(0, [key], 600);
    expect((await take(1, [key], 500)).refusal).toMatchObject({ limit: 'tokens', used: 600, needed: 500 });
    first.end(100, Date.now());
    const second = await eventually(async () => {
      const checked = await take(1, [key], 500);
      return checked.refusal === undefined ? checked : undefined;
    });
    expect(second.figures[0]).toMatchObject({ tokens: 600 });
    second.end(2500, Date.now());
    await eventually(async () => ((await take(0, [key])).refusal?.used === 2600 ? true : undefined));
    expect((await take(0, [key], 1001)).refusal).toMatchObject({ retryAfterMs: undefined });
  });

  it('contain the calls in flight of both', async () => {
    const key = subject({ concurrent: 1 });
    const first = await admitted(0, [key]);
    expect((await take(1, [key])).refusal).toMatchObject({ limit: 'concurrent', max: 1, used: 1 });
    first.end(1, Date.now());
    await eventually(async () => ((await take(1, [key])).refusal === undefined ? true : undefined));
  });

  it('keep the calls in flight, and no others, when the connections break', async () => {
    const key = subject({ concurrent: 2 });
    const [first, second] = [await admitted(0, [key]), await admitted(0, [key])];
    const operator = await createClient({ url: redis.url }).connect();
    await operator.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    operator.destroy();
    first.end(1, Date.now());
    const others = [subject({ requests: 100 })];
    for (const gateway of [0, 1]) await eventually(() => take(gateway, others).catch(() => undefined));
    const { figures } = await admitted(1, [key]);
    expect(figures[0]).toMatchObject({ inFlight: 2 });
    second.end(1, Date.now());
    await eventually(async () => ((await take(1, [key])).refusal === undefined ? true : undefined));
  });

  it('contain the calls in flight of a gateway again that another one has taken for lost', async () => {
    const key = subject({ concurrent: 2 });
    await admitted(0, [key]);
    const operator = await createClient({ url: redis.url }).connect();
    await operator.sendCommand(['DEL', 'tollgate:{limits}:gateways']);
    operator.destroy();
    const { figures } = await admitted(1, [key]);
    expect(figures[0]).toMatchObject({ inFlight: 1 });
    const refusal = await eventually(async () => {
      const checked = await take(1, [key]);
      if (checked.refusal === undefined) checked.end(0, Date.now());
      return checked.refusal;
    });
    expect(refusal).toMatchObject({ limit: 'concurrent', used: 2 });
  });

  it('leave the window within a minute, even if the clock of Redis is set back by an hour', async () => {
    const key = subject({ requests: 1, tokens: 100 });
    await admitted(0, [key]);
    // What Redis has stored then is an hour ahead, counted in half seconds.
    const operator = await createClient({ url: redis.url }).connect();
    for (const field of ['h', 'rl', 'tl']) await operator.sendCommand(['HINCRBY', `tollgate:{limits}:key ${key.id}`, field, '7200']);
    operator.destroy();
    const { refusal, figures } = await take(1, [key]);
    expect(refusal).toMatchObject({ limit: 'requests', used: 1 });
    const [{ requestsResetMs, tokensResetMs }] = figures as [Checked['figures'][0]];
    for (const waitMs of [refusal!.retryAfterMs!, requestsResetMs, tokensResetMs]) expect(waitMs).toBeLessThanOrEqual(60_500);
  });

  it('forget a lost gateway within seconds, even if it announced itself before the clock of Redis was set back', async () => {
    const operator = await createClient({ url: redis.url }).connect();
    const gateways = 'tollgate:{limits}:gateways';
    await operator.sendCommand(['ZADD', gateways, String(Date.now() + 3_600_000), 'lost']);
    await eventually(async () => Number(await operator.sendCommand(['ZSCORE', gateways, 'lost'])) <= Date.now() + 10_000 || undefined);
    operator.destroy();
  });

  it('count a call against all of its limits or none', async () => {
    const [key, account] = [subject({ requests: 1 }), subject({ requests: 10 })];
    await admitted(0, [key, account]);
    expect((await take(0, [key, account])).refusal).toMatchObject({ figures: { subject: key } });
    expect((await take(1, [account])).figures[0]).toMatchObject({ requests: 2 });
  });

  it.each([
    ['answers on the same connection', 2000],
    // Longer than a connection may be silent.
    ['has lost the connection meanwhile', 12_000],
  ])('stop delaying calls while Redis hangs, and are shared again when it %s', async (_, hangMs) => {
    const timeouts = async (): Promise<number> => {
      const durations = (await collectMetrics()).find(({ name }) => name === 'db.client.operation.duration')!;
      const found = durations.series.find(({ labels }) => labels['error.type'] === 'timeout');
      return found === undefined ? 0 : (found.value as Distribution).count;
    };
    const of = [subject({ concurrent: 3 })];
    const before = await admitted(0, of);
    recorded.lines.length = 0;
    const timedOutBefore = await timeouts();
    process.kill(redisPid, 'SIGSTOP');
    try {
      const beganAtMs = performance.now();
      const refused = { reason: 'service_unavailable' };
      for (let calls = 0; calls < 3; calls += 1) await expect(take(0, of)).rejects.toMatchObject(refused);
      const timedOut = await timeouts();
      expect(timedOut).toBeGreaterThanOrEqual(timedOutBefore + 3);
      // Further calls do not query it.
      for (let calls = 0; calls < 100; calls += 1) await expect(take(0, of)).rejects.toMatchObject(refused);
      expect((await timeouts()) - timedOut).toBeLessThanOrEqual(1);
      await sleep(hangMs - (performance.now() - beganAtMs));
    } finally {
      process.kill(redisPid, 'SIGCONT');
    }
    const { figures } = await eventually(() => admitted(0, of).catch(() => undefined));
    expect(figures[0]).toMatchObject({ inFlight: 2 });
    before.end(0, Date.now());
    expect(recorded.lines.map(({ msg }) => msg)).toEqual([
      'Redis is unavailable: calls with limits are refused',
      'Redis is available again',
    ]);
  });

  it('refuse calls while Redis is lost, if so configured', async () => {
    await redis.stop();
    await expect(take(0, [subject({ requests: 1 })])).rejects.toMatchObject({ reason: 'service_unavailable', retryAfterMs: 1000 });
  });
});
