// The steps of the roll-up, which add records to the sums and remove them. A record is in the sums when it is not in
// usage_unfolded and, until the backfill has ended, its id is not above the watermark. Every transaction that changes sums first updates
// the row of usage_summing, so these transactions run one after another on any replica or node, and each record is added once.
import { clockSkewMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction, Row } from '#kit/db/plain/plain-transaction.js';
import { insertText, keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import { Outcome } from '#proto/metering/v1/metering.js';
import { deferred } from '../settlement/outbox.js';
import { clearUnits } from './unit-sums.js';
import { addToRollups, type SeriesNumbers, type SeriesOfCalls } from './rollups.js';

const rowName = 'sums';
const rowsPerStatement = 200;
const lowestId = Buffer.alloc(16);
/** With more records waiting, reads do not add them up one by one. */
const backlogMin = 2000;
/** Series whose rows are removed in one transaction when all sums are rebuilt. */
const seriesPerClearing = 20;

/** How complete the sums are. */
export enum Phase {
  /** Previous sums are being removed, and must not be read. */
  clearing = 0,
  /** Records are being added from the lowest id upwards. */
  backfill = 1,
  /** Every record is in the sums, or in usage_unfolded. */
  complete = 2,
}

const keyed = keyedText(['id']);
const insertPending = insertText('usage_unfolded', ['id', 'account_id']);
const deletePending = textOfRows((rows) => `DELETE FROM usage_unfolded WHERE ${keyed(rows)}`);
const selectPending = textOfRows((rows) => `SELECT id FROM usage_unfolded WHERE ${keyed(rows)}`);
const selectRecorded = textOfRows((rows) => `SELECT id FROM usage_record WHERE ${keyed(rows)}`);
const deleteRecords = textOfRows((rows) => `DELETE FROM usage_record WHERE ${keyed(rows)}`);
const deleteRefunds = textOfRows((rows) => `DELETE FROM refund_outbox WHERE ${keyed(rows)}`);
const takeTurn = `UPDATE usage_summing SET version = version + 1 WHERE name = '${rowName}'`;
const readState = `SELECT phase, watermark FROM usage_summing WHERE name = '${rowName}'`;
const setWatermark = `UPDATE usage_summing SET watermark = ? WHERE name = '${rowName}'`;
const setPhase = `UPDATE usage_summing SET phase = ?, epoch = epoch + 1, watermark = ? WHERE name = '${rowName}'`;
// The record of a lost call may be replaced by its own report as long as its settlement is deferred, and never afterwards.
const unfinished = `r.outcome = ${Outcome.OUTCOME_GATEWAY_LOST} AND o.state = ${deferred}`;
const firstSeries = 'SELECT account_id, part, series FROM usage_sum LIMIT 1';
const deleteSeries = 'DELETE FROM usage_sum WHERE account_id = ? AND part = ? AND series = ?';
const pendingPage = 'SELECT id, account_id FROM usage_unfolded WHERE id > ? ORDER BY id LIMIT ?';
const keyedPending = keyedText(['u.id']);
const selectPendingRecords = textOfRows(
  (rows) =>
    `SELECT u.id, u.account_id, r.id AS recorded, CASE WHEN ${unfinished} THEN 1 ELSE 0 END AS is_unfinished FROM usage_unfolded u` +
    ` LEFT JOIN usage_record r ON r.id = u.id LEFT JOIN outbox o ON o.id = u.id WHERE ${keyedPending(rows)} ORDER BY u.id`,
);
const recordPage =
  `SELECT r.id, r.account_id, CASE WHEN ${unfinished} THEN 1 ELSE 0 END AS is_unfinished FROM usage_record r` +
  ' LEFT JOIN outbox o ON o.id = r.id WHERE r.id > ? ORDER BY r.id LIMIT ?';

/** Marks new records as not yet in the sums, in the transaction that stores them. */
export async function markPending(tx: PlainTransaction, records: readonly (readonly [id: Buffer, accountId: Buffer])[]): Promise<void> {
  await tx.run(insertPending(records.length), records.flat());
}

/** Returns the phase of the sums, and whether records are waiting to be added to them. */
export async function readRollupState(db: Database): Promise<{ phase: Phase; isWaiting: boolean }> {
  const [row] = await db.knex('usage_summing').select('phase').where({ name: rowName });
  const waiting = await db.knex('usage_unfolded').select('id').limit(1);
  return { phase: asNumber(row.phase), isWaiting: waiting.length > 0 };
}

/** Returns how many records are waiting to be added to the sums; counts up to `max`. */
export async function countWaiting(db: Database, max: number): Promise<number> {
  const [row] = await db.query('SELECT COUNT(*) AS waiting FROM (SELECT 1 FROM usage_unfolded LIMIT ?) u', [max]);
  return asNumber(row!['waiting']);
}

/** Reports whether so many records are waiting to be added to the sums that a query cannot add them up itself within milliseconds. */
export async function hasBacklog(db: Database): Promise<boolean> {
  return (await countWaiting(db, backlogMin)) >= backlogMin;
}

/** Reports whether every record is in the sums, or in usage_unfolded. */
export async function isComplete(tx: PlainTransaction): Promise<boolean> {
  const [row] = await tx.query(readState, []);
  return asNumber(row!['phase']) === Phase.complete;
}

/**
 * Leases the roll-up to this replica until `untilMs`; returns false while another replica has the lease. Two replicas at once would also be correct, but
 * would wait for each other. A lease that lasts much longer was taken while a clock was ahead, and is ignored.
 */
export async function leaseRollup(db: Database, replica: Buffer, nowMs: number, untilMs: number): Promise<boolean> {
  const ours = await db
    .knex('usage_summing')
    .where({ name: rowName })
    .where((either) =>
      either
        .where({ leased_by: replica })
        .orWhere('lease_until_ms', '<=', nowMs)
        .orWhere('lease_until_ms', '>', untilMs + clockSkewMs),
    )
    .update({ leased_by: replica, lease_until_ms: untilMs });
  return ours === 1;
}

/** Holds the result of one step. `next` is where the next step begins; undefined if nothing is left to do now. */
export interface RollupStep {
  readonly added: number;
  readonly next: Buffer | undefined;
}

/** Returns a page of usage_unfolded after this id, records of an account together: they share rows of sums. `next` is where the next page begins. */
export async function pendingAfter(db: Database, after: Buffer, limit: number): Promise<{ ids: Buffer[]; next: Buffer | undefined }> {
  const page = await db.plainTransaction((tx) => tx.query(pendingPage, [after, limit]));
  const accounts = Map.groupBy(page, (row) => asBytes(row['account_id']).toString('latin1'));
  return { ids: [...accounts.values()].flat().map(idOf), next: page.length < limit ? undefined : idOf(page.at(-1)!) };
}

/**
 * Adds those of the given records that are in usage_unfolded to the sums, except those that the backfill has not reached yet, which it will add. Returns
 * how many were added.
 */
export async function rollUpPending(db: Database, numbers: SeriesNumbers, ids: readonly Buffer[]): Promise<number> {
  const { added } = await inTurn(db, numbers, async (tx, { phase, watermark }) => {
    if (phase === Phase.clearing) return { added: 0, next: undefined };
    const ready: Row[] = [];
    for (const part of partsOf(ids))
      ready.push(...(await tx.query(selectPendingRecords(part.length), part)).filter((row) => asNumber(row['is_unfinished']) === 0));
    // A record that was deleted manually is in no sums.
    const reached = ready.filter((row) => row['recorded'] !== null && isReached(asBytes(row['id']), phase, watermark)).map(idOf);
    await clearPending(tx, ready.map(idOf));
    const learned = await addToRollups(tx, reached, 1n, numbers);
    return { added: reached.length, next: undefined, learned };
  });
  return added;
}

/** Adds the next page of records that existed before the sums did, and moves the watermark. After the last page the sums are complete. */
export async function backfill(db: Database, numbers: SeriesNumbers, limit: number): Promise<RollupStep> {
  return inTurn(db, numbers, async (tx, { phase, watermark }) => {
    if (phase !== Phase.backfill) return { added: 0, next: undefined };
    const page = await tx.query(recordPage, [watermark, limit]);
    const finished = page.filter((row) => asNumber(row['is_unfinished']) === 0).map(idOf);
    const waiting = page.filter((row) => asNumber(row['is_unfinished']) === 1);
    await clearPending(tx, page.map(idOf));
    if (waiting.length > 0)
      await markPending(
        tx,
        waiting.map((row) => [idOf(row), asBytes(row['account_id'])]),
      );
    const learned = await addToRollups(tx, finished, 1n, numbers);
    const last = page.length === 0 ? watermark : idOf(page.at(-1)!);
    // Every record stored after the page was read is in usage_unfolded.
    const isLast = page.length < limit;
    if (isLast) await tx.run(setPhase, [Phase.complete, last]);
    else await tx.run(setWatermark, [last]);
    return { added: finished.length, next: isLast ? undefined : last, learned };
  });
}

/** Starts a rebuild of all sums. Until it has ended, totals are read from the records. */
export async function rebuildRollups(db: Database): Promise<void> {
  await db.plainTransaction(async (tx) => {
    await tx.run(takeTurn, []);
    await tx.run(setPhase, [Phase.clearing, lowestId]);
  });
}

/** Removes a part of the previous sums. The backfill begins once all are removed. */
export async function clearRollups(db: Database): Promise<RollupStep> {
  return inTurn(db, undefined, async (tx, { phase }) => {
    if (phase !== Phase.clearing) return { added: 0, next: undefined };
    let cleared = 0;
    for (; cleared < seriesPerClearing; cleared += 1) {
      const [first] = await tx.query(firstSeries, []);
      if (first === undefined) break;
      await tx.run(deleteSeries, [first['account_id'], first['part'], first['series']]);
    }
    if (cleared === seriesPerClearing || (await clearUnits(tx))) return { added: 0, next: lowestId };
    await tx.run(setPhase, [Phase.backfill, lowestId]);
    return { added: 0, next: undefined };
  });
}

/** Removes records permanently, with their refunds, also from the sums; records that are already removed are skipped. They must be settled. */
export async function removeRecords(db: Database, numbers: SeriesNumbers, ids: readonly Buffer[]): Promise<void> {
  for (const part of partsOf(ids)) {
    await inTurn(db, numbers, async (tx, { phase, watermark }) => {
      const there = (await tx.query(selectRecorded(part.length), part)).map(idOf);
      if (there.length === 0) return { added: 0, next: undefined };
      const pending = new Set((await tx.query(selectPending(there.length), there)).map((row) => idOf(row).toString('hex')));
      const summed = there.filter((id) => !pending.has(id.toString('hex')) && isReached(id, phase, watermark));
      const learned = await addToRollups(tx, summed, -1n, numbers);
      await clearPending(tx, there);
      await tx.run(deleteRefunds(there.length), there);
      await tx.run(deleteRecords(there.length), there);
      return { added: 0, next: undefined, learned };
    });
  }
}

/** Reports whether the sums include records with this id that are not in usage_unfolded. */
function isReached(id: Buffer, phase: Phase, watermark: Buffer): boolean {
  return phase === Phase.complete || (phase === Phase.backfill && id.compare(watermark) <= 0);
}

interface State {
  readonly phase: Phase;
  readonly watermark: Buffer;
}

/** Runs a step while no other transaction changes sums. */
async function inTurn(
  db: Database,
  numbers: SeriesNumbers | undefined,
  step: (tx: PlainTransaction, state: State) => Promise<RollupStep & { learned?: SeriesOfCalls }>,
): Promise<RollupStep> {
  // Each step determines by itself what is left to do.
  const { learned, ...done } = await db.plainTransaction(
    async (tx) => {
      await tx.run(takeTurn, []);
      const [row] = await tx.query(readState, []);
      return step(tx, { phase: asNumber(row!['phase']), watermark: asBytes(row!['watermark']) });
    },
    // After a power failure the lost steps are repeated: the sums and the markers of the records in them are lost together.
    { isRepeatable: true, mayBeLost: true },
  );
  if (learned !== undefined) numbers?.learn(learned);
  return done;
}

async function clearPending(tx: PlainTransaction, ids: readonly Buffer[]): Promise<void> {
  for (const part of partsOf(ids)) await tx.run(deletePending(part.length), part);
}

function partsOf<T>(items: readonly T[]): (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / rowsPerStatement) }, (_, index) =>
    items.slice(index * rowsPerStatement, (index + 1) * rowsPerStatement),
  );
}

function idOf(row: Row): Buffer {
  return asBytes(row['id']);
}
