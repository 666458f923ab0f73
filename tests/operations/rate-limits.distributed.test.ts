// Rate limits over three gateways, which count in one Redis: 50 callers over a limit, and Redis lost.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SupervisedRedis, superviseRedis } from '../../deploy/distributed/redis.js';
import { chat, createKey } from '../support/clients/calls.js';
import { type Child, eventually, freePort, startScript } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

const callers = 50;
/** Whole minutes in the long form; the short one ends after 15 s, or, on a busy machine, when the limit of the first minute has been reached. */
const wholeMinutes = Number(process.env['TOLLGATE_TEST_LIMIT_MINUTES'] ?? 0);
const durationMs = wholeMinutes === 0 ? 15_000 : wholeMinutes * 60_000;
const limit = wholeMinutes === 0 ? 300 : 600;
const tokens = { messages: [{ role: 'user', content: 'tokens=1' }] };

describe('rate limits over three gateways', () => {
  let folder: string;
  let redis: SupervisedRedis;
  let redisPid: number;
  let system: System;
  const gateways: Pick<System, 'baseUrl'>[] = [];
  const children: Child[] = [];

  const startRedis = async (port: number): Promise<void> => {
    // Longer than sixty calls take on a busy machine.
    redis = superviseRedis({ folder, port, log: { error() {} }, restartDelayMs: 12_000 }, (pid) => (redisPid = pid));
    await redis.start();
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-redis-'));
    await startRedis(await freePort());
    system = await startSystem('distributed', { TOLLGATE_GATEWAY_REDIS_URL: redis.url });
    gateways.push(system);
    for (const name of ['second', 'third']) {
      const port = await freePort();
      const settings = Object.entries(system.operatorEnv()).filter(([key]) =>
        /^TOLLGATE_(\w+_ADDRESS|TLS_\w+|GATEWAY_REDIS_URL)$/.test(key),
      );
      const env = Object.fromEntries(settings.map(([key, value]) => [key, value.replace(/operator(?=[^/]*$)/, 'gateway')]));
      children.push(
        startScript('dist/gateway/main.js', [], {
          ...env,
          PORT: String(port),
          TOLLGATE_GATEWAY_SPOOL_DIR: join(folder, name),
        }),
      );
      gateways.push({ baseUrl: `http://127.0.0.1:${port}` });
    }
    for (const { baseUrl } of gateways)
      await eventually(async () => ((await fetch(`${baseUrl}/readyz`)).status === 200 ? true : undefined));
    // Every gateway has announced itself, and, two seconds later, knows of the others.
    await sleep(5000);
  });

  afterAll(async () => {
    await Promise.all(children.map((child) => child.end('SIGTERM')));
    await system?.stop();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const at = (index: number): System => ({ ...system, baseUrl: gateways[index % gateways.length]!.baseUrl });

  /** Makes a call. `isAlone` if its gateway waited for Redis in vain, and counted it by itself, against its own share of the limit. */
  async function answerOf(index: number, secret: string): Promise<{ status: number; isAlone: boolean }> {
    const answer = await chat(at(index), secret, tokens);
    await answer.text();
    return { status: answer.status, isAlone: answer.headers.get('x-ratelimit-limit-requests') === String(limit / gateways.length) };
  }

  async function warningsOf(index: number): Promise<readonly string[]> {
    const ready = await fetch(`${at(index).baseUrl}/readyz`);
    const { warnings = [] } = (await ready.json()) as { warnings?: string[] };
    return warnings;
  }

  it('admit, of 50 callers, as many calls per minute as the limit', async () => {
    const { secret } = await createKey(system, 'shared', '--rpm', String(limit));
    const beganAtMs = performance.now();
    const minutes = Array.from({ length: Math.max(1, wholeMinutes) }, () => 0);
    let alone = 0;
    const others = new Set<number>();
    let isReached = wholeMinutes > 0;
    await Promise.all(
      Array.from({ length: callers }, async (_, index) => {
        for (;;) {
          const elapsedMs = performance.now() - beganAtMs;
          if (elapsedMs >= (isReached ? durationMs : 55_000)) return;
          const { status, isAlone } = await answerOf(index, secret);
          if (isAlone) alone += 1;
          // On a busy machine the last calls are answered, and may be admitted, in the minute after the last one.
          const minute = Math.floor((performance.now() - beganAtMs) / 60_000);
          if (status === 200 && !isAlone && minute < minutes.length) minutes[minute]! += 1;
          if (status === 429) {
            isReached = true;
            await sleep(1000);
          } else if (status !== 200) others.add(status);
        }
      }),
    );
    expect([...others]).toEqual([]);
    for (const admitted of minutes) {
      expect(admitted / limit).toBeLessThan(1.02);
      // Redis counts calls too whose gateway did not wait for its answer.
      expect((admitted + alone) / limit).toBeGreaterThan(0.98);
    }
    // On a busy machine, Redis may take longer than 250 ms to answer some calls.
    expect(alone / limit).toBeLessThan(0.2);
  });

  it('are shared out among the gateways while Redis is lost, and counted together again afterwards', async () => {
    const { secret } = await createKey(system, 'alone', '--rpm', '30');
    process.kill(redisPid, 'SIGKILL');
    await sleep(200);
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => answerOf(index, secret)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(30);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30);
    expect(await warningsOf(0)).toEqual(['redis']);

    // More than are made until both gateways are connected again, which need not be at the same time.
    const { secret: later } = await createKey(system, 'together', '--rpm', '6000');
    await eventually(async () => {
      // In Redis each admitted call is seen by the next gateway.
      const answer = await chat(at(0), later, tokens);
      const next = await chat(at(1), later, tokens);
      const left = (of: Response): number => Number(of.headers.get('x-ratelimit-remaining-requests'));
      return left(answer) - left(next) === 1 && answer.headers.get('x-ratelimit-limit-requests') === '6000' ? true : undefined;
    }, 40_000);
    expect(await warningsOf(0)).toEqual([]);
  });
});
