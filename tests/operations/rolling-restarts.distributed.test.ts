// Two replicas of every process: restarted one after the other under a steady load, killed, and left without auth.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '#kit/db/open.js';
import { type Balancer, startBalancer } from '../support/balancer.js';
import { settled, sumOfCharges } from '../support/calls.js';
import { type Fleet, type Member, startFleet } from '../support/fleet.js';
import { type KeepAliveResult, startKeepAlive } from '../support/keep-alive.js';
import { eventually } from '../support/process.js';

// `make nightly` sets the rounds, in which two replicas of each process are restarted. By default each process is replaced once: its second
// replica starts, and the first one stops.
const rounds = Number(process.env['TOLLGATE_TEST_ROLLOUTS'] ?? 0);
const isLong = rounds > 0;
const knownKeysMs = 60_000;
/** Connections, with those of the two client libraries. */
const clientsMax = 10;

const gatewayUrls = (members: readonly Member[]): string[] => members.flatMap(({ baseUrl }) => (baseUrl === undefined ? [] : [baseUrl]));

/** Does to every table what the migrations of a next version may do. */
async function extendSchemas(adminUrl: string, version: number): Promise<void> {
  const db = openDatabase(new URL('mysql', adminUrl).href);
  const [tables] = (await db.knex.raw(
    "SELECT table_schema AS place, table_name AS name FROM information_schema.tables WHERE table_schema LIKE 'tollgate%'",
  )) as [{ place: string; name: string }[], unknown];
  expect(tables.length).toBeGreaterThan(30);
  for (const { place, name } of tables) {
    await db.knex.raw(`ALTER TABLE ${place}.${name} ADD COLUMN of_version_${version} INT NOT NULL DEFAULT 0 FIRST`);
    await db.knex.raw(`CREATE INDEX of_version_${version} ON ${place}.${name} (of_version_${version})`);
  }
  await db.close();
}

describe('replicas of every process', () => {
  let fleet: Fleet;
  let balancer: Balancer;
  let answered = 0;

  beforeAll(async () => {
    fleet = await startFleet({
      replicas: 2,
      started: isLong ? 2 : 1,
      env: {
        TOLLGATE_LOG_LEVEL: 'warn',
        TOLLGATE_LAME_DUCK: '1s',
        TOLLGATE_GATEWAY_KEYS_WITHOUT_AUTH: `${knownKeysMs}ms`,
        // A killed gateway leaves calls without an end.
        TOLLGATE_METERING_LEASE: '5s',
        TOLLGATE_METERING_SWEEP_INTERVAL: '500ms',
        TOLLGATE_METERING_LOST_GRACE: '1s',
        TOLLGATE_METERING_HOLD_TTL: '10s',
        TOLLGATE_GATEWAY_HOLD_TTL: '10s',
      },
    });
    balancer = await startBalancer(gatewayUrls(fleet.members));
  }, 120_000);

  afterAll(async () => {
    await balancer?.stop();
    await fleet?.stop();
  });

  /** Makes calls during `work`. */
  async function underLoad(work: () => Promise<void>): Promise<KeepAliveResult> {
    const size = isLong ? { connections: clientsMax - 2, pauseMs: 10 } : { connections: 2, pauseMs: 150 };
    const load = startKeepAlive({ baseUrl: balancer.baseUrl, key: fleet.key, libraries: true, ...size });
    try {
      await sleep(500);
      await work();
      await sleep(500);
    } finally {
      await load.stop();
    }
    const result = await load.stop();
    answered += result.answered;
    return result;
  }

  async function stop(member: Member): Promise<void> {
    const code = await member.end('SIGTERM');
    expect({ name: member.name, code, output: code === 0 ? '' : member.output() }).toEqual({ name: member.name, code: 0, output: '' });
  }

  async function restartAll(): Promise<void> {
    for (const member of fleet.members) {
      await stop(member);
      await member.start();
    }
  }

  async function replaceAll(): Promise<void> {
    for (const former of fleet.members.filter((member) => member.isRunning())) {
      await fleet.members.find(({ name, replica }) => name === former.name && replica !== former.replica)!.start();
      await stop(former);
    }
  }

  it(
    'are replaced one after the other, on a schema that the next version has extended, without a failed call',
    async () => {
      for (let round = 1; round <= Math.max(1, rounds); round += 1) {
        const { failed, answered: calls } = await underLoad(async () => {
          await extendSchemas(fleet.adminUrl, round);
          await (isLong ? restartAll() : replaceAll());
        });
        process.stdout.write(`rolling restart ${round}: ${calls} calls answered, ${failed.length} failed\n`);
        expect(failed).toEqual([]);
        expect(calls).toBeGreaterThan(50);
      }
    },
    Math.max(1, rounds) * 300_000,
  );

  it('serve known keys for a while when all of auth is unavailable, and say so', async () => {
    const { secret: unknown } = await fleet.json<{ secret: string }>('key', 'create', '--name', 'unknown', '--account', fleet.accountId);
    const running = fleet.members.filter((member) => member.isRunning());
    const auth = running.filter(({ name }) => name === 'auth');
    const call = async (baseUrl: string, key: string): Promise<number> => {
      const response = await fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
      });
      await response.text();
      if (response.status === 200) answered += 1;
      return response.status;
    };
    for (const baseUrl of gatewayUrls(running)) expect(await call(baseUrl, fleet.key)).toBe(200);
    const { failed } = await underLoad(async () => {
      await Promise.all(auth.map((member) => member.end('SIGKILL')));
      await sleep(isLong ? 11_000 : 3000);
      for (const baseUrl of gatewayUrls(running)) {
        expect(await (await fetch(`${baseUrl}/readyz`)).json()).toMatchObject({ status: 'ok', degraded: ['auth'] });
        expect(await call(baseUrl, unknown)).toBe(503);
      }
      await Promise.all(auth.map((member) => member.start()));
    });
    expect(failed).toEqual([]);
    for (const baseUrl of gatewayUrls(running))
      await eventually(async () => ((await call(baseUrl, unknown)) === 200 ? true : undefined), 10_000);
  }, 120_000);

  (isLong ? it : it.skip)(
    'present renewed certificates without a restart, and lose no call',
    async () => {
      const { failed } = await underLoad(async () => {
        const serials = await fleet.renewCertificates();
        for (const member of fleet.members.filter(({ name }) => name !== 'gateway'))
          await eventually(async () => ((await fleet.serialOf(member)) === serials.get(member.name) ? true : undefined), 30_000);
        // New connections between all of them.
        await restartAll();
      });
      expect(failed).toEqual([]);
    },
    300_000,
  );

  (isLong ? it : it.skip)(
    'lose at most the calls in flight when any of them is killed',
    async () => {
      for (const member of fleet.members) {
        const { failed, answered: calls } = await underLoad(async () => {
          await member.end('SIGKILL');
          await sleep(2000);
          await member.start();
        });
        process.stdout.write(`${member.name} killed: ${calls} calls answered, ${failed.length} failed\n`);
        expect({ failed, isBounded: failed.length <= 2 * clientsMax }).toMatchObject({ isBounded: true });
      }
    },
    600_000,
  );

  it('have recorded and charged every answer once, and hold nothing', async () => {
    const { rows, balance } = await settled(fleet, fleet.accountId, answered, 60_000);
    expect(rows.filter(({ outcome }) => outcome === 'completed').length).toBeGreaterThanOrEqual(answered);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await fleet.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  }, 90_000);
});

const release = process.env['TOLLGATE_TEST_RELEASE'];

(release === undefined ? describe.skip : describe)(`the processes of ${release}`, () => {
  it('run beside those of this version, are replaced by them and put back, without a failed call', async () => {
    const built = execFileSync('scripts/release-build.sh', [release!], { encoding: 'utf8' }).trim();
    const replaced = new Set<string>();
    const nameOf = (name: string, replica: number): string => `${name} ${replica}`;
    const fleet = await startFleet({
      replicas: 2,
      env: { TOLLGATE_LOG_LEVEL: 'warn', TOLLGATE_LAME_DUCK: '1s' },
      distOf: ({ name }, replica) => (replaced.has(nameOf(name, replica)) ? 'dist' : join(built, 'dist')),
    });
    try {
      const balancer = await startBalancer(gatewayUrls(fleet.members));
      const load = startKeepAlive({ baseUrl: balancer.baseUrl, key: fleet.key, connections: 8, libraries: true });
      // Services before gateways, as docs/rollouts.md says.
      const order = [...fleet.members].sort((one, other) => Number(one.name === 'gateway') - Number(other.name === 'gateway'));
      for (const isBack of [false, true]) {
        for (const member of isBack ? order.reverse() : order) {
          const name = nameOf(member.name, member.replica);
          if (isBack) replaced.delete(name);
          else replaced.add(name);
          await member.end('SIGTERM');
          await member.start();
          await sleep(500);
        }
      }
      const { answered, failed } = await load.stop();
      await balancer.stop();
      process.stdout.write(`from ${release} and back: ${answered} calls answered, ${failed.length} failed\n`);
      expect(failed).toEqual([]);
      const { rows, balance } = await settled(fleet, fleet.accountId, answered, 60_000);
      expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
      expect(await fleet.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
    } finally {
      await fleet.stop();
    }
  }, 600_000);
});
