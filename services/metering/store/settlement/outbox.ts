// Settlements that the ledger has not yet answered.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { insertText, keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBigInt, asBytes, asNumber } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { PricedRecord } from '../../records/usage-record.js';
import { bytesOf } from '../records/record-rows.js';
import { countRefused, RefundState } from './refund-outbox.js';

/** The state of a settlement that is delivered when it is due. */
export const pending = 0;
const failed = 1;
/** The state of the settlement of a lost call, whose own report may still arrive: it is not delivered before its time. */
export const deferred = 2;
const errorCharsMax = 200;

const columns = [
  'id',
  'account_id',
  'key_id',
  'charge_nano_usd',
  'state',
  'attempts',
  'next_attempt_at_ms',
  'created_at_ms',
  'last_error',
] as const;

const keyed = keyedText(['id']);
const insertSettlements = insertText('outbox', columns);
const deleteSettlements = textOfRows((rows) => `DELETE FROM outbox WHERE ${keyed(rows)}`);
const settleWhole = textOfRows(
  (rows) => `UPDATE usage_record SET captured_nano_usd = charge_nano_usd, shortfall_nano_usd = 0, settled_at_ms = ? WHERE ${keyed(rows)}`,
);
const settleOne = 'UPDATE usage_record SET captured_nano_usd = ?, shortfall_nano_usd = ?, settled_at_ms = ? WHERE id = ?';
const selectDue = `SELECT ${columns.join(', ')} FROM outbox WHERE state = ${pending} AND next_attempt_at_ms <= ? ORDER BY next_attempt_at_ms LIMIT ?`;
const selectDeferred = `SELECT id FROM outbox WHERE state = ${deferred} AND next_attempt_at_ms <= ? LIMIT 1`;
const setAside = `UPDATE outbox SET state = ${failed}, attempts = ?, last_error = ? WHERE id = ? AND state = ${pending}`;
const resettle = `UPDATE outbox SET state = ${pending}, charge_nano_usd = ?, next_attempt_at_ms = ? WHERE id = ? AND state = ${deferred}`;
const postpone = `UPDATE outbox SET next_attempt_at_ms = ?, attempts = ?, last_error = ? WHERE id = ? AND state = ${pending}`;

/** Holds a charge that waits for the ledger. */
export interface PendingSettlement {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly chargeNanoUsd: bigint;
  readonly recordedAtMs: bigint;
  /** Delivery attempts so far. */
  readonly attempts: number;
}

/** Holds the outcome of one delivery. */
export type Outcome =
  | { readonly kind: 'settled'; readonly item: PendingSettlement; readonly capturedNanoUsd: bigint; readonly shortfallNanoUsd: bigint }
  | { readonly kind: 'postponed'; readonly item: PendingSettlement; readonly nextAttemptAtMs: number; readonly error: string }
  | { readonly kind: 'failed'; readonly item: PendingSettlement; readonly error: string };

/** Returns the settlement of a new record. */
export function settlementOf({ record }: PricedRecord): PendingSettlement {
  const { call, chargeNanoUsd, recordedAtMs } = record;
  return { callId: call.id, accountId: call.accountId, keyId: call.keyId, chargeNanoUsd, recordedAtMs, attempts: 0 };
}

/** Queues the settlements of new records, in the transaction that stores them. No other replica delivers them before `claimedUntilMs`. */
export function enqueueSettlements(tx: PlainTransaction, records: readonly PricedRecord[], claimedUntilMs: number): Promise<void> {
  return insertRows(tx, records, pending, claimedUntilMs);
}

/** Queues the settlement of a lost call; until `dueAtMs` it may be replaced by that of the call's own report. */
export function deferSettlement(tx: PlainTransaction, lost: PricedRecord, dueAtMs: number): Promise<void> {
  return insertRows(tx, [lost], deferred, dueAtMs);
}

/** Replaces the deferred settlement with that of the call's own report; returns false when that is no longer possible. */
export async function replaceDeferred(tx: PlainTransaction, { record }: PricedRecord, claimedUntilMs: number): Promise<boolean> {
  return (await tx.run(resettle, [record.chargeNanoUsd, claimedUntilMs, bytesOf('req', record.call.id)])) === 1;
}

/** Reports whether the time of a deferred settlement has come. */
export async function hasDueDeferred(db: Database, nowMs: number): Promise<boolean> {
  return (await db.query(selectDeferred, [nowMs])).length > 0;
}

/** Makes those deferred settlements of lost calls deliverable whose time has come. */
export async function releaseDeferred(db: Database, nowMs: number): Promise<void> {
  await db.knex('outbox').where({ state: deferred }).where('next_attempt_at_ms', '<=', nowMs).update({ state: pending });
}

async function insertRows(tx: PlainTransaction, records: readonly PricedRecord[], state: number, nextAttemptAtMs: number): Promise<void> {
  const values = records.flatMap(({ record }) => [
    bytesOf('req', record.call.id),
    bytesOf('acct', record.call.accountId),
    bytesOf('key', record.call.keyId),
    record.chargeNanoUsd,
    state,
    0,
    nextAttemptAtMs,
    record.recordedAtMs,
    '',
  ]);
  await tx.run(insertSettlements(records.length), values);
}

/**
 * Claims up to `limit` due settlements until `claimedUntilMs`. Another replica that reads them at the same moment finds the instant changed, and
 * claims none of them.
 */
export async function claimDue(db: Database, nowMs: number, claimedUntilMs: number, limit: number): Promise<PendingSettlement[]> {
  const due = (await db.query(selectDue, [nowMs, limit])) as Record<(typeof columns)[number], unknown>[];
  if (due.length === 0) return [];
  const claimed = await db.transaction(async (tx) => {
    const ours: typeof due = [];
    for (const row of due) {
      const taken = await tx('outbox')
        .where({ id: row.id, state: pending, next_attempt_at_ms: row.next_attempt_at_ms })
        .update({ next_attempt_at_ms: claimedUntilMs });
      if (taken === 1) ours.push(row);
    }
    return ours;
  });
  return claimed.map((row) => ({
    callId: idFromBytes('req', asBytes(row.id)),
    accountId: idFromBytes('acct', asBytes(row.account_id)),
    keyId: idFromBytes('key', asBytes(row.key_id)),
    chargeNanoUsd: asBigInt(row.charge_nano_usd),
    recordedAtMs: asBigInt(row.created_at_ms),
    attempts: asNumber(row.attempts),
  }));
}

/** Makes every pending settlement and refund due now, regardless of claims. */
export async function makeAllDue(db: Database, nowMs: number): Promise<void> {
  const later = ['next_attempt_at_ms', '>', nowMs] as const;
  await db
    .knex('outbox')
    .where({ state: pending })
    .where(...later)
    .update({ next_attempt_at_ms: nowMs });
  await db
    .knex('refund_outbox')
    .where({ state: RefundState.pending })
    .where(...later)
    .update({ next_attempt_at_ms: nowMs });
}

/** Stores the outcomes of deliveries: the ledger's responses in the records, the rest in the outbox. */
export async function storeOutcomes(db: Database, outcomes: readonly Outcome[], nowMs: number): Promise<void> {
  const settled = outcomes.filter((outcome) => outcome.kind === 'settled');
  const idOf = ({ item }: Outcome): Buffer => bytesOf('req', item.callId);
  const store = async (tx: PlainTransaction): Promise<void> => {
    const whole = settled.filter(isWhole);
    if (whole.length > 0) await tx.run(settleWhole(whole.length), [nowMs, ...whole.map(idOf)]);
    for (const outcome of settled) {
      if (!isWhole(outcome)) await tx.run(settleOne, [outcome.capturedNanoUsd, outcome.shortfallNanoUsd, nowMs, idOf(outcome)]);
    }
    if (settled.length > 0) await tx.run(deleteSettlements(settled.length), settled.map(idOf));
    for (const outcome of outcomes) {
      if (outcome.kind === 'settled') continue;
      const last = [outcome.item.attempts + 1, outcome.error.slice(0, errorCharsMax), idOf(outcome)];
      if (outcome.kind === 'failed') await tx.run(setAside, last);
      else await tx.run(postpone, [outcome.nextAttemptAtMs, ...last]);
    }
  };
  // If an outcome is lost, its settlement is delivered again and the ledger returns the same response.
  await db.plainTransaction(store, { isRepeatable: true, mayBeLost: true });
}

/** Reports whether the ledger took exactly the charge. In this usual case, many rows share one statement. */
function isWhole(outcome: Outcome & { kind: 'settled' }): boolean {
  return outcome.shortfallNanoUsd === 0n && outcome.capturedNanoUsd === outcome.item.chargeNanoUsd;
}

/** Holds the state of the outbox. */
export interface OutboxState {
  readonly pending: bigint;
  /** 0 when nothing is pending. */
  readonly oldestPendingAtMs: bigint;
  /** Settlements, and refunds of undelivered answers, that the ledger refused permanently. */
  readonly failed: bigint;
  readonly openCalls: bigint;
}

/** Counts waiting and failed settlements and calls in flight. */
export async function readOutboxState(db: Database): Promise<OutboxState> {
  const rows: { state: unknown; items: unknown; oldest: unknown }[] = await db
    .knex('outbox')
    .select('state', db.knex.raw('COUNT(*) AS items'), db.knex.raw('MIN(created_at_ms) AS oldest'))
    .groupBy('state');
  const inState = (state: number) => rows.find((row) => asNumber(row.state) === state);
  const calls: { items: unknown }[] = await db.knex('open_call').select(db.knex.raw('COUNT(*) AS items'));
  return {
    pending: asBigInt(inState(pending)?.items ?? 0),
    oldestPendingAtMs: asBigInt(inState(pending)?.oldest ?? 0),
    failed: asBigInt(inState(failed)?.items ?? 0) + (await countRefused(db)),
    openCalls: asBigInt(calls[0]?.items ?? 0),
  };
}
