// Runs a load of holds and settlements on ledgers whose database fails, and checks the books afterwards.
import { expect } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Access } from '#kit/rpc/access/access.js';
import { systemClock } from '#kit/clock.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import { hasReason } from '#client/errors/app-error.js';
import { idFromBytes } from '#kit/id.js';
import { recordedAudit } from '#kit/testing/audit.js';
import { silentLog as log } from '#kit/testing/log.js';
import { HoldState, type LedgerService } from '#proto/ledger/v1/ledger.js';
import { createLedger } from '../../../services/ledger/index.js';
import { quietConfig } from '../../../services/ledger/testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, settleRequest } from '../../../services/ledger/testing/requests.js';

const heldNanoUsd = 1000n;
const giveUpMs = 60_000;
const pauseMs = 20;

/** A ledger that is composed as in its process, but runs in this one. */
export interface Replica {
  readonly service: LedgerService;
  stop(): Promise<void>;
}

/** Starts a ledger on this database, and migrates the database if it is the first. */
export async function startReplica(url: string): Promise<Replica> {
  const db = openDatabase(url, { poolMax: 4 });
  const ledger = createLedger(quietConfig, { db, clock: systemClock, log, access: new Access(), auth: recordedAudit() });
  await ledger.start();
  return {
    service: ledger.service,
    async stop() {
      await ledger.stop();
      await db.close();
    },
  };
}

/** A running load, with the responses that it has received. */
export interface Load {
  /** Costs of the acknowledged settlements, by hold. */
  readonly settled: ReadonlyMap<string, bigint>;
  /** How often an operation was retried because its outcome was unknown. */
  readonly unknowns: () => number;
  /** Returns the longest time without an acknowledgement since this instant (of performance.now), in milliseconds. */
  longestGapMs(sinceMs: number): number;
  /** Starts no more operations and waits until those in flight have a response. */
  stop(): Promise<void>;
}

/** Makes callers hold and settle on a few accounts, over all replicas in turn, each retrying with the same id until it knows the outcome. */
export async function startLoad(replicas: readonly Replica[], callers: number, accounts: number): Promise<Load> {
  const customers: Customer[] = [];
  for (let count = 0; count < accounts; count += 1) customers.push(await fundedCustomer(replicas[0]!.service, 1_000_000_000_000n));
  const settled = new Map<string, bigint>();
  const answeredAtMs: number[] = [performance.now()];
  let unknowns = 0;
  let isStopping = false;

  async function untilKnown<T>(ask: () => Promise<T>): Promise<T> {
    for (const untilMs = performance.now() + giveUpMs; ; await sleep(pauseMs)) {
      try {
        const answer = await ask();
        answeredAtMs.push(performance.now());
        return answer;
      } catch (error) {
        // A refusal would be wrong, because every account has enough funds and every id is new or a retry.
        if (
          hasReason(error, 'balance_empty', 'balance_held', 'not_found', 'already_exists', 'invalid_request') ||
          performance.now() > untilMs
        )
          throw error;
        unknowns += 1;
      }
    }
  }

  async function call(caller: number): Promise<void> {
    for (let turn = 0; !isStopping; turn += 1) {
      // A different pair in each turn, so that every replica serves every account.
      const { service } = replicas[(caller + turn) % replicas.length]!;
      const customer = customers[(caller + 7 * turn) % customers.length]!;
      const request = holdRequest(customer, heldNanoUsd, { ttlMs: 3_600_000 });
      await untilKnown(() => service.hold(request));
      const costNanoUsd = BigInt(1 + ((caller + turn) % 900));
      await untilKnown(() => service.settle(settleRequest(customer, request.holdId, costNanoUsd)));
      settled.set(request.holdId, costNanoUsd);
    }
  }
  const running = Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  // The error is reported by `stop`.
  running.catch(() => undefined);
  return {
    settled,
    unknowns: () => unknowns,
    longestGapMs(sinceMs) {
      const times = [sinceMs, ...answeredAtMs.filter((time) => time > sinceMs), performance.now()];
      return Math.max(...times.slice(1).map((time, index) => time - times[index]!));
    },
    async stop() {
      isStopping = true;
      await running;
    },
  };
}

/** Expects that the database at this URL has each acknowledged settlement exactly once, no others, and books without drift. */
export async function expectBooks(url: string, settled: ReadonlyMap<string, bigint>): Promise<void> {
  const db: Database = openDatabase(url, { poolMax: 2 });
  try {
    const holds = await db.knex('hold').select('id', 'state', 'captured_nano_usd');
    const inBooks = new Map(
      holds.map((row) => [idFromBytes('req', asBytes(row.id)), `${asNumber(row.state)} ${asText(row.captured_nano_usd)}`]),
    );
    const wanted = new Map([...settled].map(([id, cost]) => [id, `${HoldState.HOLD_STATE_SETTLED} ${cost}`]));
    expect(differences(wanted, inBooks)).toEqual([]);
    const entries = await db
      .knex('journal')
      .whereNotNull('hold_id')
      .groupBy('hold_id')
      .select('hold_id', db.knex.raw('COUNT(*) AS entries, SUM(amount_nano_usd) AS amount'));
    const charged = new Map(entries.map((row) => [idFromBytes('req', asBytes(row.hold_id)), `${row.entries} ${row.amount}`]));
    expect(differences(new Map([...settled].map(([id, cost]) => [id, `1 ${cost}`])), charged)).toEqual([]);
    const { service } = createLedger(quietConfig, { db, clock: systemClock, log, access: new Access(), auth: recordedAudit() });
    expect(await service.verify({ accountId: '' })).toMatchObject({ sumNanoUsd: 0n, openHolds: 0n, drifts: [] });
  } finally {
    await db.close();
  }
}

function differences(wanted: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  const ids = new Set([...wanted.keys(), ...found.keys()]);
  return [...ids]
    .filter((id) => wanted.get(id) !== found.get(id))
    .map((id) => `${id}: acknowledged ${wanted.get(id)}, in the books ${found.get(id)}`);
}
