// Exactly once, from the wire to the journal: metering, the ledger and the gateway go away while calls run. Calls under way end as
// if nothing were amiss, new ones are told to come back, and afterwards each answer has one record and one charge.
import { afterEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '#kit/db/open.js';
import { adminUser, loadCredentials } from '../../deploy/distributed/mariadb/credentials.js';
import { type BalanceRow, post, settled, sumOfCharges } from '../support/calls.js';
import { eventually } from '../support/process.js';
import { killOne, pidsOf, startedSince } from '../support/processes.js';
import { type Mode, modes, startSystem, type System } from '../support/system.js';
import { observe } from '../support/traffic.js';

const paths = ['/v1/chat/completions', '/v1/messages'];
const awayMs = 7000;
const commonEnv = {
  TOLLGATE_GATEWAY_SPOOL_AFTER: '300ms',
  TOLLGATE_GATEWAY_RPC_TIMEOUT: '1s',
  TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '100ms',
  // Short, so that a report often comes only when its call has been taken for lost.
  TOLLGATE_METERING_LEASE: '2s',
  TOLLGATE_METERING_SWEEP_INTERVAL: '100ms',
  TOLLGATE_METERING_LOST_GRACE: '15s',
};
const start = (mode: Mode, env: Record<string, string> = {}): Promise<System> =>
  startSystem(mode, { ...commonEnv, ...(mode === 'distributed' ? { TOLLGATE_DISTRIBUTED_RESTART_DELAY: `${awayMs}ms` } : {}), ...env });

let system: System | undefined;

afterEach(async () => {
  await system?.stop();
  system = undefined;
});

interface Answer {
  readonly requestId: string;
  /** As the end of the answer told it. */
  readonly outputTokens: number;
}

/** A call that takes four seconds or more, and is read to its true end. `onBegun` is called when a stream has begun. */
async function call(to: System, path: string, isStream: boolean, onBegun = (): void => undefined): Promise<Answer> {
  const response = await post(to, path, to.firstKey, {
    model: 'sandbox/story',
    stream: isStream,
    ...(path === paths[0] && isStream ? { stream_options: { include_usage: true } } : {}),
    max_tokens: 500,
    messages: [{ role: 'user', content: 'delay=20ms tokens=200' }],
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

/** Twenty calls that are in flight when this resolves: six whole ones, and after them fourteen streams. */
async function twentyCalls(to: System): Promise<{ all: Promise<Answer[]> }> {
  const whole = Array.from({ length: 6 }, (_, index) => call(to, paths[index % 2]!, false));
  let begun = 0;
  const streams = Array.from({ length: 14 }, (_, index) => call(to, paths[index % 2]!, true, () => (begun += 1)));
  const all = Promise.all([...whole, ...streams]);
  // A failure is told where it is awaited.
  all.catch(() => undefined);
  await eventually(() => (begun === streams.length ? true : undefined));
  await sleep(300);
  return { all };
}

/** New calls of both formats, streamed and not, are told to come back; nothing of them reaches an upstream. */
async function expectRefusals(of: System): Promise<void> {
  for (const path of paths) {
    for (const stream of [true, false]) {
      const seen = await observe(of, of.firstKey, path, {
        model: 'sandbox/echo',
        stream,
        max_tokens: 20,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      expect(seen).toMatchObject({ status: path === paths[0] ? 503 : 529, reason: 'service_unavailable', retryAfter: '2' });
    }
  }
}

async function expectOneRecordEach(of: System, answers: readonly Answer[]): Promise<void> {
  const { id: accountId } = await of.json<{ id: string }>('account', 'list');
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
  // A call that found out that metering was still away is on record too, and nothing else is.
  expect(rows.filter((row) => row.outcome !== 'completed')).toEqual([]);
  expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
  expect(await of.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  // The gateway hears a moment after it that all is on record.
  await eventually(() => (spoolFiles(of).length === 0 ? true : undefined)).catch(() => expect(spoolFiles(of)).toEqual([]));
}

const spoolFiles = (of: System): string[] => readdirSync(join(of.dataDir, 'spool')).filter((name) => !name.startsWith('lock'));

const logLines = (of: System, wanted: RegExp): string[] => {
  const text = of.mode === 'single' ? of.output() : readFileSync(join(of.dataDir, 'logs', 'gateway.log'), 'utf8');
  return text.split('\n').filter((line) => wanted.test(line));
};

/** Keeps a service from its work until the returned function is called, or resolves of itself. */
function lose(of: System, name: 'metering' | 'ledger', table: string): () => Promise<void> {
  if (of.mode === 'distributed') return killOne(of, name);
  const rename = (from: string, to: string): void => {
    const database = new Database(join(of.dataDir, `${name}.db`));
    database.exec(`ALTER TABLE ${from} RENAME TO ${to}`);
    database.close();
  };
  rename(table, 'away');
  return async () => rename('away', table);
}

const loseMetering = (of: System): (() => Promise<void>) => lose(of, 'metering', 'usage_record');
const loseLedger = (of: System): (() => Promise<void>) => lose(of, 'ledger', 'hold');

/** Makes transactions of metering that store records wait until the returned function is called. */
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
  // A single process keeps its records in a file, and would wait for a lock on it as a whole.
  if (mode === 'distributed') {
    it('a whole answer whose record comes too late is withheld, and its charge is refunded by itself', async () => {
      system = await start(mode, {
        TOLLGATE_GATEWAY_RECORD_PATIENCE: '1s',
        // Metering stores the report as it was sent, after the gateway has given its client an error.
        TOLLGATE_GATEWAY_SPOOL_AFTER: '20s',
        TOLLGATE_GATEWAY_RPC_TIMEOUT: '20s',
        TOLLGATE_METERING_LEASE: '30s',
      });
      const balance = async () => {
        const { available_nano_usd: available, spent_nano_usd: spent } = await system!.json<BalanceRow>('balance', 'show');
        return { available, spent };
      };
      const before = await balance();
      const answer = post(system, paths[0]!, system.firstKey, {
        model: 'sandbox/story',
        max_tokens: 500,
        messages: [{ role: 'user', content: 'delay=20ms tokens=50' }],
      });
      await sleep(300);
      const unlock = await lockRecords(system);
      const response = await answer.finally(unlock);
      expect(response.status).toBe(503);
      const requestId = response.headers.get('x-request-id')!;
      const record = await eventually(async () => {
        const shown = await system!.json<Record<string, string>>('usage', 'show', requestId);
        return shown['refunded_nano_usd'] === shown['charge_nano_usd'] ? shown : undefined;
      }, 30_000);
      expect(record).toMatchObject({ outcome: 'completed' });
      expect(BigInt(record['charge_nano_usd']!)).toBeGreaterThan(0n);
      expect(await balance()).toEqual(before);
      expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
    }, 120_000);
  }

  it('answers under way end whole, are recorded once it is back, and new calls are refused', async () => {
    system = await start(mode);
    const { all: answers } = await twentyCalls(system);
    const untilBack = loseMetering(system);
    const ended = await answers;
    expect(spoolFiles(system)).not.toEqual([]);
    await expectRefusals(system);
    await untilBack();
    await expectOneRecordEach(system, ended);
    expect(await eventually(() => fetch(`${system!.baseUrl}/readyz`).then(({ status }) => (status === 200 ? true : undefined)), 5000)).toBe(
      true,
    );
    await call(system, paths[0]!, true);
    expect(logLines(system, /metering is away/)).toHaveLength(1);
    expect(logLines(system, /metering is back/)).toHaveLength(1);
  }, 120_000);

  it('nothing is lost when the gateway is killed too, after it has spooled', async () => {
    system = await start(mode);
    const { all: answers } = await twentyCalls(system);
    const untilBack = loseMetering(system);
    const ended = await answers;
    expect(spoolFiles(system)).not.toEqual([]);
    if (mode === 'distributed') {
      // Late enough that metering, once it is back, takes the calls for lost before the gateway is.
      await sleep(3000);
      const killedAtMs = Date.now();
      const untilGatewayBack = killOne(system, 'gateway');
      await Promise.all([untilBack(), untilGatewayBack()]);
      await eventually(() => startedSince(system!, 'gateway', killedAtMs), 30_000);
    } else {
      await system.kill();
      await untilBack();
      await system.start();
    }
    await expectOneRecordEach(system, ended);
  }, 120_000);

  it('nothing is lost when everything loses power, after the calls were spooled', async () => {
    system = await start(mode);
    const { all: answers } = await twentyCalls(system);
    const untilBack = loseMetering(system);
    const ended = await answers;
    await system.kill();
    if (mode === 'single') await untilBack();
    await system.start();
    await expectOneRecordEach(system, ended);
  }, 120_000);
});

describe.each(modes)('without the ledger, %s', (mode) => {
  it('answers under way end whole and are charged once it is back, new calls are refused, and nothing stays held', async () => {
    system = await start(mode, { TOLLGATE_METERING_LEASE: '30s' });
    const { all: answers } = await twentyCalls(system);
    const untilBack = loseLedger(system);
    const ended = await answers;
    await expectRefusals(system);
    await untilBack();
    await expectOneRecordEach(system, ended);
    expect(logLines(system, /the ledger is away: new calls/)).toHaveLength(1);
  }, 120_000);
});

// It has a process of its own there only.
if (modes.includes('distributed'))
  describe('a ledger that hangs', () => {
    it('releases the holds whose answers never came as soon as it answers, long before they would expire', async () => {
      system = await start('distributed', { TOLLGATE_METERING_LEASE: '30s' });
      const pid = pidsOf(system).ledger;
      process.kill(pid, 'SIGSTOP');
      try {
        await Promise.all(Array.from({ length: 3 }, () => expectRefusals(system!)));
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      const { id: accountId } = await system.json<{ id: string }>('account', 'list');
      await eventually(() => (logLines(system!, /the ledger is back/).length > 0 ? true : undefined));
      const { rows, balance } = await settled(system, accountId, 0, 10_000);
      expect(rows).toEqual([]);
      expect(balance.spent_nano_usd).toBe('0');
      expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0 });
      await call(system, paths[1]!, false);
    }, 120_000);
  });
