// Two replicas of every process: replaced one after the other under a steady load, and left without auth.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';
import { openDatabase } from '#kit/db/open.js';
import { createKey, settled, sumOfCharges } from '../support/clients/calls.js';
import type { Member } from '../support/systems/fleet.js';
import { eventually } from '../support/systems/process.js';
import { gatewayUrls, Replicas } from '../support/systems/replicas.js';

// `make nightly` sets the rounds, in which two replicas of each process are restarted. By default each process is replaced once: its second
// replica starts, and the first one stops.
const rounds = Number(process.env['TOLLGATE_TEST_ROLLOUTS'] ?? 0);
const isLong = rounds > 0;

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
  let replicas: Replicas;

  beforeAll(async () => {
    replicas = isLong
      ? await Replicas.start(2, { connections: 8, pauseMs: 10 })
      : await Replicas.start(1, { connections: 2, pauseMs: 150 });
  }, 120_000);

  afterAll(() => replicas?.end());

  it(
    'are replaced one after the other, on a schema that the next version has extended, without a failed call',
    async () => {
      for (let round = 1; round <= Math.max(1, rounds); round += 1) {
        const { failed, answered: calls } = await replicas.underLoad(async () => {
          await extendSchemas(replicas.fleet.adminUrl, round);
          await (isLong ? replicas.restartAll() : replicas.replaceAll());
        });
        process.stdout.write(`rolling restart ${round}: ${calls} calls answered, ${failed.length} failed\n`);
        expect(failed).toEqual([]);
        expect(calls).toBeGreaterThan(50);
      }
    },
    Math.max(1, rounds) * 300_000,
  );

  it('charge a call once if its client times out and retries at another gateway while its gateway is paused', async () => {
    const { fleet } = replicas;
    const [first, second] = fleet.members.filter(({ name }) => name === 'gateway') as [Member, Member];
    for (const gateway of [first, second]) if (!gateway.isRunning()) await gateway.start();
    const { id: accountId } = await fleet.json<{ id: string }>('account', 'create', 'paused');
    await fleet.cli('balance', 'deposit', '10', '--account', accountId);
    const { secret } = await createKey(fleet, 'paused', '--account', accountId);
    let attempts = 0;
    const openai = new OpenAI({
      baseURL: `${first.baseUrl}/v1`,
      apiKey: secret,
      timeout: 2500,
      maxRetries: 8,
      fetch: (url, init) => fetch((attempts += 1) === 1 ? url : String(url).replace(first.baseUrl!, second.baseUrl!), init),
    });
    // It takes eight seconds.
    const answering = openai.chat.completions.create({
      model: 'sandbox/story',
      messages: [{ role: 'user', content: 'delay=200ms tokens=40' }],
    });
    const db = openDatabase(new URL('mysql', fleet.adminUrl).href);
    const isCheckpointed = 'SELECT id FROM tollgate_metering.open_call WHERE retry_key_hash IS NOT NULL';
    await eventually(async () => ((await db.query(isCheckpointed, [])).length > 0 ? true : undefined)).finally(() => db.close());
    first.signal('SIGSTOP');
    try {
      await eventually(() => (attempts > 1 ? true : undefined));
      await sleep(500);
    } finally {
      first.signal('SIGCONT');
    }
    expect((await answering).usage).toMatchObject({ completion_tokens: 40 });
    const { rows, balance } = await settled(fleet, accountId, 1);
    expect(rows.filter(({ charge_nano_usd: charge }) => charge !== '0').map(({ outcome }) => outcome)).toEqual(['completed']);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
  }, 120_000);

  it('serve known keys for a while when all of auth is unavailable, and say so', async () => {
    const { secret: unknown } = await replicas.fleet.json<{ secret: string }>(
      'key',
      'create',
      '--name',
      'unknown',
      '--account',
      replicas.fleet.accountId,
    );
    const running = replicas.fleet.members.filter((member) => member.isRunning());
    const auth = running.filter(({ name }) => name === 'auth');
    const call = async (baseUrl: string, key: string): Promise<number> => {
      const response = await fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
      });
      await response.text();
      if (response.status === 200) replicas.answered += 1;
      return response.status;
    };
    for (const baseUrl of gatewayUrls(running)) expect(await call(baseUrl, replicas.fleet.key)).toBe(200);
    const { failed } = await replicas.underLoad(async () => {
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

  it('have recorded and charged every answer once, and hold nothing', async () => {
    const { rows, balance } = await settled(replicas.fleet, replicas.fleet.accountId, replicas.answered, 60_000);
    expect(rows.filter(({ outcome }) => outcome === 'completed').length).toBeGreaterThanOrEqual(replicas.answered);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await replicas.fleet.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  }, 90_000);
});
