// What takes minutes with two replicas of every process, and is therefore only run by `make nightly`: renewed certificates, kills, and another release.
import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBalancer } from '../support/systems/balancer.js';
import { settled, sumOfCharges } from '../support/clients/calls.js';
import { startFleet } from '../support/systems/fleet.js';
import { startKeepAlive } from '../support/clients/keep-alive.js';
import { eventually } from '../support/systems/process.js';
import { gatewayUrls, lameDuck, Replicas } from '../support/systems/replicas.js';

/** Connections, with those of the two client libraries. */
const clientsMax = 10;
const release = process.env['TOLLGATE_TEST_RELEASE'];

describe('two replicas of every process', () => {
  let replicas: Replicas;

  beforeAll(async () => {
    replicas = await Replicas.start(2, { connections: clientsMax - 2, pauseMs: 10 });
  }, 120_000);

  afterAll(() => replicas?.end());

  it('present renewed certificates without a restart, and lose no call', async () => {
    const { failed } = await replicas.underLoad(async () => {
      const serials = await replicas.fleet.renewCertificates();
      for (const member of replicas.fleet.members.filter(({ name }) => name !== 'gateway'))
        await eventually(async () => ((await replicas.fleet.serialOf(member)) === serials.get(member.name) ? true : undefined), 30_000);
      // New connections between all of them.
      await replicas.restartAll();
    });
    expect(failed).toEqual([]);
  }, 300_000);

  it('lose at most the calls in flight when any of them is killed', async () => {
    for (const member of replicas.fleet.members) {
      const { failed, answered: calls } = await replicas.underLoad(async () => {
        await member.end('SIGKILL');
        await sleep(2000);
        await member.start();
      });
      process.stdout.write(`${member.name} killed: ${calls} calls answered, ${failed.length} failed\n`);
      expect({ failed, isBounded: failed.length <= 2 * clientsMax }).toMatchObject({ isBounded: true });
    }
  }, 600_000);

  it('have recorded and charged every answer once, and hold nothing', async () => {
    const { rows, balance } = await settled(replicas.fleet, replicas.fleet.accountId, replicas.answered, 60_000);
    expect(rows.filter(({ outcome }) => outcome === 'completed').length).toBeGreaterThanOrEqual(replicas.answered);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await replicas.fleet.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  }, 90_000);
});

describe(`the processes of ${release ?? 'the last release'}`, () => {
  it('run alongside those of this version, are replaced by them and put back, without a failed call', async () => {
    const built = execFileSync('scripts/release-build.sh', release === undefined ? [] : [release], { encoding: 'utf8' }).trim();
    const replaced = new Set<string>();
    const nameOf = (name: string, replica: number): string => `${name} ${replica}`;
    const fleet = await startFleet({
      replicas: 2,
      env: { TOLLGATE_LOG_LEVEL: 'warn', TOLLGATE_LAME_DUCK: lameDuck },
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
          const { baseUrl } = member;
          if (baseUrl !== undefined) await eventually(() => (balancer.serves(baseUrl) ? true : undefined), 10_000);
        }
      }
      const { answered, failed } = await load.stop();
      await balancer.stop();
      process.stdout.write(`from ${basename(built)} and back: ${answered} calls answered, ${failed.length} failed\n`);
      expect(failed).toEqual([]);
      const { rows, balance } = await settled(fleet, fleet.accountId, answered, 60_000);
      expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
      expect(await fleet.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
    } finally {
      await fleet.stop();
    }
  }, 600_000);
});
