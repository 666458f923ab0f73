// Which records are in the sums, and how the others get there. A record is in the sums when it is not in usage_unfolded and, until the
// backfill has ended, its id is not above the watermark. Every transaction that changes sums changes the row of usage_fold first: so
// they come one after another, whichever replica or node makes them, and each record is added once.
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction, Row } from '#kit/db/plain-transaction.js';
import { insertText, keyedText, textOfRows } from '#kit/db/sql-text.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import { Ending } from '#proto/metering/v1/metering.js';
import { deferred } from './outbox.js';
import { addToRollups, type SeriesNumbers } from './rollups.js';

const rowName = 'rollups';
const rowsPerStatement = 200;
const lowestId = Buffer.alloc(16);
/** Series whose rows are removed in one transaction when all is summed anew. */
const seriesPerClearing = 20;

/** How far the sums are. */
export enum Phase {
  /** What was summed before is being removed, and nothing may be read from it. */
  clearing = 0,
  /** Records are being added from the lowest id upwards. */
  backfill = 1,
  /** Every record is in the sums, or in usage_unfolded. */
  complete = 2,
}

const keyed = keyedText(['id']);
const insertUnfolded = insertText('usage_unfolded', ['id', 'account_id']);
const deleteUnfolded = textOfRows((rows) => `DELETE FROM usage_unfolded WHERE ${keyed(rows)}`);
const selectUnfolded = textOfRows((rows) => `SELECT id FROM usage_unfolded WHERE ${keyed(rows)}`);
const selectRecorded = textOfRows((rows) => `SELECT id FROM usage_record WHERE ${keyed(rows)}`);
const deleteRecords = textOfRows((rows) => `DELETE FROM usage_record WHERE ${keyed(rows)}`);
const takeTurn = `UPDATE usage_fold SET version = version + 1 WHERE name = '${rowName}'`;
const readState = `SELECT phase, watermark FROM usage_fold WHERE name = '${rowName}'`;
const setWatermark = `UPDATE usage_fold SET watermark = ? WHERE name = '${rowName}'`;
const setPhase = `UPDATE usage_fold SET phase = ?, epoch = epoch + 1, watermark = ? WHERE name = '${rowName}'`;
// The record of a lost call may yet be replaced by its own report as long as its settlement is deferred, and never after.
const unfinished = `r.ending = ${Ending.ENDING_GATEWAY_LOST} AND o.state = ${deferred}`;
const unfoldedPage =
  `SELECT u.id, u.account_id, r.id AS recorded, CASE WHEN ${unfinished} THEN 1 ELSE 0 END AS is_unfinished FROM usage_unfolded u` +
  ' LEFT JOIN usage_record r ON r.id = u.id LEFT JOIN outbox o ON o.id = u.id WHERE u.id > ? ORDER BY u.id LIMIT ?';
const recordPage =
  `SELECT r.id, r.account_id, CASE WHEN ${unfinished} THEN 1 ELSE 0 END AS is_unfinished FROM usage_record r` +
  ' LEFT JOIN outbox o ON o.id = r.id WHERE r.id > ? ORDER BY r.id LIMIT ?';

/** Notes new records as not summed yet, in the transaction that stores them. */
export async function noteUnfolded(tx: PlainTransaction, records: readonly (readonly [id: Buffer, accountId: Buffer])[]): Promise<void> {
  await tx.run(insertUnfolded(records.length), records.flat());
}

/** Makes the row of the sums if it is missing. */
export async function ensureFold(db: Database): Promise<void> {
  if ((await db.knex('usage_fold').select('name').where({ name: rowName })).length > 0) return;
  const row = { name: rowName, version: 0, epoch: 1, phase: Phase.backfill, watermark: lowestId, leased_by: lowestId, lease_until_ms: 0 };
  await db.knex('usage_fold').insert(row).catch((error: unknown) => {
    // Another replica was faster.
    if (!isDuplicate(error)) throw error;
  });
}

/** How far the sums are, and whether records wait to be added to them. */
export async function readFold(db: Database): Promise<{ phase: Phase; isWaiting: boolean }> {
  const [row] = await db.knex('usage_fold').select('phase').where({ name: rowName });
  const waiting = await db.knex('usage_unfolded').select('id').limit(1);
  return { phase: row === undefined ? Phase.clearing : asNumber(row.phase), isWaiting: waiting.length > 0 };
}

/** Lets this replica alone fold until then; false while another does. Two at once would be right too, but would wait for each other. */
export async function leaseFold(db: Database, replica: Buffer, nowMs: number, untilMs: number): Promise<boolean> {
  const ours = await db
    .knex('usage_fold')
    .where({ name: rowName })
    .where((either) => either.where({ leased_by: replica }).orWhere('lease_until_ms', '<=', nowMs))
    .update({ leased_by: replica, lease_until_ms: untilMs });
  return ours === 1;
}

/** What one step did. `next` is where the next begins; undefined: there is nothing left to do now. */
export interface FoldStep {
  readonly folded: number;
  readonly next: Buffer | undefined;
}

/** Adds a page of the records in usage_unfolded after this id to the sums. Those whose turn in the backfill has not come are left to it. */
export async function foldUnfolded(db: Database, numbers: SeriesNumbers, after: Buffer, limit: number): Promise<FoldStep> {
  return inTurn(db, numbers, async (tx, { phase, watermark }) => {
    if (phase === Phase.clearing) return { folded: 0, next: undefined };
    const page = await tx.query(unfoldedPage, [after, limit]);
    const ready = page.filter((row) => asNumber(row['is_unfinished']) === 0);
    // A record that somebody removed is in no sums.
    const folded = ready.filter((row) => row['recorded'] !== null && isReached(asBytes(row['id']), phase, watermark)).map(idOf);
    await remove(tx, ready.map(idOf));
    const learned = await addToRollups(tx, folded, 1n, numbers);
    return { folded: folded.length, next: page.length < limit ? undefined : idOf(page.at(-1)!), learned };
  });
}

/** Adds the next page of records that were there before the sums were, and moves the watermark; at the end the sums are complete. */
export async function backfill(db: Database, numbers: SeriesNumbers, limit: number): Promise<FoldStep> {
  return inTurn(db, numbers, async (tx, { phase, watermark }) => {
    if (phase !== Phase.backfill) return { folded: 0, next: undefined };
    const page = await tx.query(recordPage, [watermark, limit]);
    const finished = page.filter((row) => asNumber(row['is_unfinished']) === 0).map(idOf);
    const waiting = page.filter((row) => asNumber(row['is_unfinished']) === 1);
    await remove(tx, page.map(idOf));
    if (waiting.length > 0) await noteUnfolded(tx, waiting.map((row) => [idOf(row), asBytes(row['account_id'])]));
    const learned = await addToRollups(tx, finished, 1n, numbers);
    const last = page.length === 0 ? watermark : idOf(page.at(-1)!);
    // Whatever was not there when the page was read is in usage_unfolded.
    const isLast = page.length < limit;
    if (isLast) await tx.run(setPhase, [Phase.complete, last]);
    else await tx.run(setWatermark, [last]);
    return { folded: finished.length, next: isLast ? undefined : last, learned };
  });
}

/** Has everything summed anew: until that is done sums are read from the records. */
export async function sumAnew(db: Database): Promise<void> {
  await db.plainTransaction(async (tx) => {
    await tx.run(takeTurn, []);
    await tx.run(setPhase, [Phase.clearing, lowestId]);
  });
}

/** Removes a part of what was summed before; then the backfill begins. */
export async function clearRollups(db: Database): Promise<FoldStep> {
  return inTurn(db, undefined, async (tx, { phase }) => {
    if (phase !== Phase.clearing) return { folded: 0, next: undefined };
    for (let cleared = 0; cleared < seriesPerClearing; cleared += 1) {
      const [first] = await tx.query('SELECT account_id, part, series FROM usage_rollup LIMIT 1', []);
      if (first === undefined) {
        await tx.run(setPhase, [Phase.backfill, lowestId]);
        return { folded: 0, next: undefined };
      }
      await tx.run('DELETE FROM usage_rollup WHERE account_id = ? AND part = ? AND series = ?', [first['account_id'], first['part'], first['series']]);
    }
    return { folded: 0, next: lowestId };
  });
}

/** Removes records for good, and from the sums with them; those that are gone already are no fault. They must be settled. */
export async function removeFolded(db: Database, numbers: SeriesNumbers, ids: readonly Buffer[]): Promise<void> {
  for (let start = 0; start < ids.length; start += rowsPerStatement) {
    const part = ids.slice(start, start + rowsPerStatement);
    await inTurn(db, numbers, async (tx, { phase, watermark }) => {
      const there = (await tx.query(selectRecorded(part.length), part)).map(idOf);
      if (there.length === 0) return { folded: 0, next: undefined };
      const unfolded = new Set((await tx.query(selectUnfolded(there.length), there)).map((row) => idOf(row).toString('hex')));
      const summed = there.filter((id) => !unfolded.has(id.toString('hex')) && isReached(id, phase, watermark));
      const learned = await addToRollups(tx, summed, -1n, numbers);
      await remove(tx, there);
      await tx.run(deleteRecords(there.length), there);
      return { folded: 0, next: undefined, learned };
    });
  }
}

/** Whether the sums hold records of this id that are not in usage_unfolded. */
function isReached(id: Buffer, phase: Phase, watermark: Buffer): boolean {
  return phase === Phase.complete || (phase === Phase.backfill && id.compare(watermark) <= 0);
}

interface State {
  readonly phase: Phase;
  readonly watermark: Buffer;
}

/** Runs a step when nobody else changes sums. */
async function inTurn(
  db: Database,
  numbers: SeriesNumbers | undefined,
  step: (tx: PlainTransaction, state: State) => Promise<FoldStep & { learned?: ReadonlyMap<string, number> }>,
): Promise<FoldStep> {
  // Each step finds out by itself what is left to do.
  const { learned, ...done } = await db.plainTransaction(
    async (tx) => {
      await tx.run(takeTurn, []);
      const [row] = await tx.query(readState, []);
      // Before the first fold there are no sums.
      return step(tx, row === undefined ? { phase: Phase.clearing, watermark: lowestId } : { phase: asNumber(row['phase']), watermark: asBytes(row['watermark']) });
    },
    // What a power cut takes back is folded once more: the sums and what is in them are lost together.
    { isRepeatable: true, mayBeLost: true },
  );
  if (learned !== undefined) numbers?.learn(learned);
  return done;
}

async function remove(tx: PlainTransaction, ids: readonly Buffer[]): Promise<void> {
  for (let start = 0; start < ids.length; start += rowsPerStatement) {
    const part = ids.slice(start, start + rowsPerStatement);
    await tx.run(deleteUnfolded(part.length), part);
  }
}

function idOf(row: Row): Buffer {
  return asBytes(row['id']);
}
