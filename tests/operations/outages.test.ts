// Exactly-once charging from the wire to the journal when metering, the ledger and the gateway become unavailable during calls: calls in
// flight complete normally, new ones are refused with a retry hint, and afterwards each answer has one record and one charge.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '#kit/db/open.js';
import { adminUser, loadCredentials } from '../../deploy/distributed/mariadb/credentials.js';
import { type BalanceRow, createKey, post, settled, sumOfCharges } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { killOne, pidsOf, startedSince } from '../support/systems/processes.js';
import { gatewayLog, type Mode, modes, startSystem, type System } from '../support/systems/system.js';
import { observe } from '../support/clients/traffic.js';

const withoutMetering = /^Calls cannot be recorded now/;
const withoutLedger = /^The balance cannot be checked now/;
const paths = ['/v1/chat/completions', '/v1/messages'];
/** Longer than the rest of the calls in flight and the refusals take on a busy machine. */
const awayMs = 10_000;
const commonEnv = {
  TOLLGATE_GATEWAY_SPOOL_AFTER: '300ms',
  // A busy machine needs more than a second for the first holds of twenty calls at once.
  TOLLGATE_GATEWAY_RPC_TIMEOUT: '3s',
  TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '100ms',
  // Short, so that reports often arrive after their call was already treated as lost.
  TOLLGATE_METERING_LEASE: '2s',
  TOLLGATE_METERING_SWEEP_INTERVAL: '100ms',
  TOLLGATE_METERING_LOST_GRACE: '30s',
};
const start = (mode: Mode, env: Record<string, string> = {}): Promise<System> =>
  startSystem(mode, { ...commonEnv, ...(mode === 'distributed' ? { TOLLGATE_DISTRIBUTED_RESTART_DELAY: `${awayMs}ms` } : {}), ...env });

/** An account that only one test uses, because tests share a system. */
interface Customer {
  readonly accountId: string;
  readonly secret: string;
}

async function addCustomer(to: System): Promise<Customer> {
  const { id: accountId } = await to.json<{ id: string }>('account', 'create', 'Customer');
  await to.cli('balance', 'deposit', '10', '--account', accountId);
  const { secret } = await createKey(to, 'key', '--account', accountId);
  return { accountId, secret };
}

interface Answer {
  readonly requestId: string;
  /** As reported at the end of the answer. */
  readonly outputTokens: number;
}

/** Makes a call that takes at least four seconds, and reads it to its end. Calls `onBegun` when a stream has begun. */
async function call(to: System, secret: string, path: string, isStream: boolean, onBegun = (): void => undefined): Promise<Answer> {
  const response = await post(to, path, secret, {
    model: 'sandbox/story',
    stream: isStream,
    ...(path === paths[0] && isStream ? { stream_options: { include_usage: true } } : {}),
    max_tokens: 500,
    // Few tokens, because a busy machine cannot send the many of twenty fast answers in time.
    messages: [{ role: 'user', content: 'delay=50ms tokens=80' }],
  });
  onBegun();
  const text = await response.text();
  expect({ status: response.status, text: text.slice(-300) }).toMatchObject({ status: 200 });
  if (isStream) expect(text).toMatch(/data: \[DONE\]|event: message_stop/);
  const outputTokens = Number(
    text
      .match(/"(?:completion|output)_tokens":(\d+)/g)!
      .at(-1)!
      .split(':')[1],
  );
  return { requestId: response.headers.get('x-request-id')!, outputTokens };
}

/** Starts twenty calls, first six whole ones and then fourteen streams. Resolves when all are in flight. */
async function twentyCalls(to: System, secret: string): Promise<{ all: Promise<Answer[]> }> {
  const whole = Array.from({ length: 6 }, (_, index) => call(to, secret, paths[index % 2]!, false));
  let begun = 0;
  const streams = Array.from({ length: 14 }, (_, index) => call(to, secret, paths[index % 2]!, true, () => (begun += 1)));
  const all = Promise.all([...whole, ...streams]);
  // A failure is reported where `all` is awaited.
  all.catch(() => undefined);
  await eventually(() => (begun === streams.length ? true : undefined));
  await sleep(300);
  return { all };
}

/** Expects that new calls of both formats, streamed and whole, are refused with this message and a retry hint. */
async function expectRefusals(of: System, secret: string, message: RegExp): Promise<void> {
  for (const path of paths) {
    for (const stream of [true, false]) {
      const seen = await observe(of, secret, path, {
        model: 'sandbox/echo',
        stream,
        max_tokens: 20,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      expect(seen).toMatchObject({
        status: path === paths[0] ? 503 : 529,
        reason: 'service_unavailable',
        message: expect.stringMatching(message),
        retryAfter: '2',
      });
    }
  }
}

async function expectOneRecordEach(of: System, accountId: string, answers: readonly Answer[]): Promise<void> {
  const { rows, balance } = await settled(of, accountId, answers.length, 40_000);
  const byId = new Map(rows.map((row) => [row.id, row]));
  expect(rows).toHaveLength(byId.size);
  for (const { requestId, outputTokens } of answers) {
    expect(byId.get(requestId)).toMatchObject({
      outcome: 'completed',
      token_source: 'reported',
      output_tokens: outputTokens,
      shortfall_nano_usd: '0',
    });
    expect(BigInt(byId.get(requestId)!.charge_nano_usd)).toBeGreaterThan(0n);
  }
  // A call that found metering still unavailable has a record too, and no other call has one.
  expect(rows.filter((row) => row.outcome !== 'completed')).toEqual([]);
  expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
  expect(await of.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  // The gateway is informed a moment later that everything is recorded.
  await eventually(() => (spoolFiles(of).length === 0 ? true : undefined)).catch(() => expect(spoolFiles(of)).toEqual([]));
}

// With gateway threads, each has a folder of its own.
const spoolFiles = (of: System): string[] =>
  readdirSync(join(of.dataDir, 'spool'), { recursive: true, encoding: 'utf8' }).filter((name) => !/(^|\/)(lock[^/]*|\d+)$/.test(name));

const logLines = (of: System, wanted: RegExp): string[] =>
  gatewayLog(of)
    .split('\n')
    .filter((line) => wanted.test(line));

/** Expects that each thread that logged this logged it once. */
function expectOnePerThread(lines: readonly string[]): void {
  expect(lines.length).toBeGreaterThan(0);
  const threads = lines.map((line) => (JSON.parse(line) as { thread?: number }).thread);
  expect(threads).toEqual([...new Set(threads)]);
}

/** Blocks a service until the returned function is called and has resolved. */
function lose(of: System, name: 'metering' | 'ledger', table: string): () => Promise<void> {
  if (of.mode === 'distributed') return killOne(of, name);
  const rename = (from: string, to: string): void => {
    const database = new Database(join(of.dataDir, 'books.db'));
    database.exec(`ALTER TABLE ${from} RENAME TO ${to}`);
    database.close();
  };
  rename(table, 'away');
  return async () => rename('away', table);
}

const loseMetering = (of: System): (() => Promise<void>) => lose(of, 'metering', 'usage_record');
const loseLedger = (of: System): (() => Promise<void>) => lose(of, 'ledger', 'hold');

/** Blocks metering's transactions that store records until the returned function is called. */
async function lockRecords(of: System): Promise<() => Promise<void>> {
  const port = /--port=(\d+)/.exec(readFileSync(`/proc/${pidsOf(of).mariadb}/cmdline`, 'utf8'))![1]!;
  const password = loadCredentials(join(of.dataDir, 'mariadb', 'credentials.json'))[adminUser]!;
  const db = openDatabase(`mysql://${adminUser}:${password}@127.0.0.1:${port}/mysql`);
  const lock = await db.knex.transaction();
  await lock.raw('LOCK TABLES tollgate_metering.usage_record WRITE');
  return async () => {
    await lock.raw('UNLOCK TABLES');
    await lock.commit();
    await db.close();
  };
}

describe.each(modes)('without metering, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await start(mode);
  });

  afterAll(() => system?.stop());

  // This test comes first, because it reads the log of the system from its start on.
  it('completes answers in flight, records them once it is back, and refuses new calls', async () => {
    const { accountId, secret } = await addCustomer(system);
    const { all: answers } = await twentyCalls(system, secret);
    const untilBack = loseMetering(system);
    const ended = await answers;
    expect(spoolFiles(system)).not.toEqual([]);
    await expectRefusals(system, secret, withoutMetering);
    await untilBack();
    await expectOneRecordEach(system, accountId, ended);
    expect(await eventually(() => fetch(`${system.baseUrl}/readyz`).then(({ status }) => (status === 200 ? true : undefined)))).toBe(true);
    await call(system, secret, paths[0]!, true);
    expectOnePerThread(logLines(system, /metering is unavailable/));
    await eventually(() => (logLines(system, /metering is available again/).length > 0 ? true : undefined));
    expectOnePerThread(logLines(system, /metering is available again/));
  }, 120_000);

  it('loses nothing when the gateway is also killed after it has spooled the calls', async () => {
    const { accountId, secret } = await addCustomer(system);
    const { all: answers } = await twentyCalls(system, secret);
    const untilBack = loseMetering(system);
    const ended = await answers;
    expect(spoolFiles(system)).not.toEqual([]);
    if (mode === 'distributed') {
      // Late enough that metering, once it is back, treats the calls as lost before the gateway is back.
      await sleep(3000);
      const killedAtMs = Date.now();
      const untilGatewayBack = killOne(system, 'gateway');
      await Promise.all([untilBack(), untilGatewayBack()]);
      await eventually(() => startedSince(system, 'gateway', killedAtMs), 30_000);
    } else {
      await system.kill();
      await untilBack();
      await system.start();
    }
    await expectOneRecordEach(system, accountId, ended);
  }, 120_000);

  it('loses nothing in a power cut after the calls were spooled', async () => {
    const { accountId, secret } = await addCustomer(system);
    const { all: answers } = await twentyCalls(system, secret);
    const untilBack = loseMetering(system);
    const ended = await answers;
    await system.kill();
    if (mode === 'single') await untilBack();
    await system.start();
    await expectOneRecordEach(system, accountId, ended);
  }, 120_000);
});

// A single process has its records in one file, where a lock would block the whole process.
if (modes.includes('distributed'))
  it('a whole answer that metering records too late is withheld, and its charge is refunded automatically', async () => {
    const system = await start('distributed', {
      TOLLGATE_GATEWAY_RECORD_PATIENCE: '1s',
      // Metering stores the report only after the gateway has returned an error to its client.
      TOLLGATE_GATEWAY_SPOOL_AFTER: '20s',
      TOLLGATE_GATEWAY_RPC_TIMEOUT: '20s',
      TOLLGATE_METERING_LEASE: '30s',
    });
    try {
      const balance = async () => {
        const { available_nano_usd: available, spent_nano_usd: spent } = await system.json<BalanceRow>('balance', 'show');
        return { available, spent };
      };
      const before = await balance();
      const answer = post(system, paths[0]!, system.firstKey, {
        model: 'sandbox/story',
        max_tokens: 500,
        // Locking takes more than a second on a busy machine.
        messages: [{ role: 'user', content: 'delay=100ms tokens=50' }],
      });
      await sleep(1000);
      const unlock = await lockRecords(system);
      const response = await answer.finally(unlock);
      expect(response.status).toBe(503);
      const requestId = response.headers.get('x-request-id')!;
      const record = await eventually(async () => {
        const shown = await system.json<Record<string, string>>('usage', 'show', requestId);
        return shown['refunded_nano_usd'] === shown['charge_nano_usd'] ? shown : undefined;
      }, 30_000);
      expect(record).toMatchObject({ outcome: 'completed' });
      expect(BigInt(record['charge_nano_usd']!)).toBeGreaterThan(0n);
      expect(await balance()).toEqual(before);
      expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
    } finally {
      await system.stop();
    }
  }, 120_000);

describe.each(modes)('without the ledger, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await start(mode, { TOLLGATE_METERING_LEASE: '30s' });
  });

  afterAll(() => system?.stop());

  // This test comes first, because it reads the log of the system from its start on.
  it('completes answers in flight, charges them once it is back, refuses new calls, and leaves nothing held', async () => {
    const { accountId, secret } = await addCustomer(system);
    const { all: answers } = await twentyCalls(system, secret);
    const untilBack = loseLedger(system);
    const ended = await answers;
    // Metering can be late on a busy machine. Once it has all records, new calls are no longer refused because of it.
    await eventually(() => (spoolFiles(system).length === 0 ? true : undefined));
    await expectRefusals(system, secret, withoutLedger);
    await untilBack();
    await expectOneRecordEach(system, accountId, ended);
    expectOnePerThread(logLines(system, /the ledger is unavailable: new calls/));
  }, 120_000);

  // Only in distributed mode does the ledger have its own process.
  if (mode === 'distributed')
    it('releases holds whose responses were lost as soon as a ledger that hung responds again, long before they would expire', async () => {
      const { accountId, secret } = await addCustomer(system);
      const isAvailableAgain = /the ledger is available again/;
      // The gateway has noticed the end of the outage before.
      await eventually(() => (logLines(system, isAvailableAgain).length > 0 ? true : undefined));
      const before = logLines(system, isAvailableAgain).length;
      const pid = pidsOf(system).ledger;
      process.kill(pid, 'SIGSTOP');
      try {
        await Promise.all(Array.from({ length: 3 }, () => expectRefusals(system, secret, withoutLedger)));
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await eventually(() => (logLines(system, isAvailableAgain).length > before ? true : undefined));
      const { rows, balance } = await settled(system, accountId, 0, 30_000);
      expect(rows).toEqual([]);
      expect(balance.spent_nano_usd).toBe('0');
      expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0 });
      await call(system, secret, paths[1]!, false);
    }, 120_000);
});
