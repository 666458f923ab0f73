// The reconcile job's queries on metering's own tables: calls page by page, and all that is known about some calls. Reads take no locks.
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { keyedText, type TextOfRows, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBigInt, asBytes, asNumber } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { UsageRecord } from '#proto/metering/v1/metering.js';
import type { CallName, QueuedCharge } from '../reconcile/judge.js';
import { deferred } from './settlement/outbox.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from './records/record-rows.js';
import type { Position } from './records/queries.js';

const keyed = keyedText(['id']);
/** Selects the rows of this many calls. Knex would take as long to build such a statement as SQLite to run it ten times. */
const selectOf = (table: string, columns: readonly string[]): TextOfRows =>
  textOfRows((rows) => `SELECT ${columns.join(', ')} FROM ${table} WHERE ${keyed(rows)}`);
const selectNames = selectOf('usage_record', ['id', 'account_id']);
const selectRecords = selectOf('usage_record', allRecordColumns);
const selectQueued = selectOf('outbox', ['id', 'charge_nano_usd', 'state']);
const selectClosed = selectOf('closed_settlement', ['id']);
const selectInFlight = selectOf('open_call', ['id']);

/** The state of an outbox row whose charge the ledger refused. */
const failed = 1;

/** Selects calls: of one account (empty: all), started within an interval; 0 for no bound. */
export interface Extent {
  readonly accountId: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Holds a recorded call and its place in the order of records. */
export interface RecordedCall extends CallName {
  readonly position: Position;
}

interface NameRow {
  id: unknown;
  account_id: unknown;
}

/** Returns at most `limit` recorded calls after this position, oldest first. */
export async function recordedCallsAfter(
  db: Database,
  extent: Extent,
  after: Position | undefined,
  limit: number,
): Promise<RecordedCall[]> {
  const query = db.knex('usage_record').select('id', 'account_id', 'started_at_ms');
  if (extent.accountId !== '') query.where('account_id', bytesOf('acct', extent.accountId));
  const afterMs = Number(after?.startedAtMs ?? 0n);
  // One lower bound: of two, SQLite would read the index from the first.
  query.where('started_at_ms', '>=', Math.max(extent.fromMs, afterMs));
  if (extent.untilMs > 0) query.where('started_at_ms', '<', extent.untilMs);
  if (after !== undefined)
    query.where((either) => either.where('started_at_ms', '>', afterMs).orWhere('id', '>', bytesOf('req', after.callId)));
  const rows: (NameRow & { started_at_ms: unknown })[] = await query.orderBy(['started_at_ms', 'id']).limit(limit);
  return rows.map((row) => {
    const name = nameOf(row);
    return { ...name, position: { startedAtMs: asBigInt(row.started_at_ms), callId: name.callId } };
  });
}

/** Returns the account of each of these calls that is on record. */
export async function recordedNames(db: Database, callIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (callIds.length === 0) return new Map();
  const rows = await db.query(
    selectNames(callIds.length),
    callIds.map((callId) => bytesOf('req', callId)),
  );
  return new Map(rows.map((row) => nameOf(row as unknown as NameRow)).map(({ callId, accountId }) => [callId, accountId]));
}

/** Returns at most `limit` calls whose charges are in the outbox, after this one (empty: from the first). */
export async function queuedCallsAfter(db: Database, accountId: string, afterCallId: string, limit: number): Promise<CallName[]> {
  const query = db.knex('outbox').select('id', 'account_id').orderBy('id').limit(limit);
  if (accountId !== '') query.where('account_id', bytesOf('acct', accountId));
  if (afterCallId !== '') query.where('id', '>', bytesOf('req', afterCallId));
  return ((await query) as NameRow[]).map(nameOf);
}

/** Holds what metering knows about some calls, by call id. */
export interface OwnEvidence {
  readonly records: ReadonlyMap<string, UsageRecord>;
  readonly queued: ReadonlyMap<string, QueuedCharge>;
  readonly closed: ReadonlySet<string>;
  readonly inFlight: ReadonlySet<string>;
}

/** Returns all that the tables contain about these calls. Pass at most a few hundred. */
export async function ownEvidence(db: Database, callIds: readonly string[]): Promise<OwnEvidence> {
  if (callIds.length === 0) return { records: new Map(), queued: new Map(), closed: new Set(), inFlight: new Set() };
  const ids = callIds.map((callId) => bytesOf('req', callId));
  const records = await db.query(selectRecords(ids.length), ids);
  const queued = await db.query(selectQueued(ids.length), ids);
  const closed = await db.query(selectClosed(ids.length), ids);
  const inFlight = await db.query(selectInFlight(ids.length), ids);
  const idOf = (row: Row): string => idFromBytes('req', asBytes(row['id']));
  return {
    records: new Map(records.map((row) => [idOf(row), recordFromRow(row as RecordRow)])),
    queued: new Map(
      queued.map((row) => {
        const state = asNumber(row['state']);
        return [
          idOf(row),
          { chargeNanoUsd: asBigInt(row['charge_nano_usd']), isRefused: state === failed, isDeferred: state === deferred },
        ];
      }),
    ),
    closed: new Set(closed.map(idOf)),
    inFlight: new Set(inFlight.map(idOf)),
  };
}

function nameOf(row: NameRow): CallName {
  return { callId: idFromBytes('req', asBytes(row.id)), accountId: idFromBytes('acct', asBytes(row.account_id)) };
}
