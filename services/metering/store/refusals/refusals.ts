// Stores refused calls: exact counts, and a bounded number of examples.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { addText, upsertText } from '#kit/db/plain/sql-text.js';
import { Table, type Values } from '#kit/db/plain/table.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { RecordRefusalsRequest_Series as Series, Refusal } from '#proto/metering/v1/metering.js';
import { examplesUntil } from '#rules/errors/refusals.js';
import { bytesOf } from '../records/record-rows.js';
import { noteRefusedKeys } from './refused-keys.js';

const rowsPerStatement = 100;

const counts = new Table('refusal_count', {
  key: ['account_id', 'quarter_ms', 'project_id', 'key_id', 'model_id', 'reason'],
  changing: ['calls', 'examples'],
});

/** The columns of a stored refusal. */
export const refusalColumns = [
  'id',
  'account_id',
  'project_id',
  'key_id',
  'model_id',
  'requested_model',
  'reason',
  'http_status',
  'refused_at_ms',
  'endpoint',
  'message',
  'details',
  'retry_after_ms',
  'trace_id',
  'client_request_id',
] as const;

const addCountsOn = (engine: 'sqlite' | 'mysql') => addText(engine, counts.name, counts.key, counts.changing);
const addCounts = { sqlite: addCountsOn('sqlite'), mysql: addCountsOn('mysql') };
// A request id that is already stored stays as it is.
const insertExamplesOn = (engine: 'sqlite' | 'mysql') => upsertText(engine, 'refusal', refusalColumns, ['id'], ['id']);
const insertExamples = { sqlite: insertExamplesOn('sqlite'), mysql: insertExamplesOn('mysql') };

/** Adds a batch, unless it is stored already. Returns whether an alert about a key is due. The series must be valid. A power failure may undo it on SQLite. */
export async function addRefusals(db: Database, batchId: Buffer, series: readonly Series[], nowMs: number): Promise<boolean> {
  // Rows are changed in key order, so that concurrent batches do not deadlock.
  const keyed = [...mergedByKey(series).values()].toSorted(compareKeys);
  return db.plainTransaction(
    async (tx) => {
      if ((await tx.query('SELECT id FROM refusal_batch WHERE id = ?', [batchId])).length > 0) return false;
      await tx.run('INSERT INTO refusal_batch (id, stored_at_ms) VALUES (?, ?)', [batchId, nowMs]);
      await inParts(
        tx,
        addCounts,
        keyed.map(({ key, calls }) => [...key, calls, 0]),
      );
      await addExamples(
        tx,
        keyed.filter(({ examples }) => examples.length > 0),
      );
      return noteRefusedKeys(tx, series, nowMs);
    },
    { isRepeatable: true, mayBeLost: true },
  );
}

interface KeyedSeries {
  readonly key: Values;
  readonly name: string;
  readonly calls: bigint;
  readonly examples: readonly Refusal[];
  readonly series: Series;
}

/** Returns the series by their keys: one statement may name a key only once. */
function mergedByKey(all: readonly Series[]): Map<string, KeyedSeries> {
  const merged = new Map<string, KeyedSeries>();
  for (const series of all) {
    const { accountId, projectId, keyId, quarterMs } = series;
    const key = [
      bytesOf('acct', accountId),
      Number(quarterMs),
      bytesOf('proj', projectId),
      bytesOf('key', keyId),
      series.modelId,
      series.reason,
    ];
    const name = `${accountId} ${quarterMs} ${projectId} ${keyId} ${series.reason} ${series.modelId}`;
    const before = merged.get(name);
    merged.set(name, {
      key,
      name,
      series,
      calls: series.calls + (before?.calls ?? 0n),
      examples: before === undefined ? series.examples : [...before.examples, ...series.examples],
    });
  }
  return merged;
}

function compareKeys(a: KeyedSeries, b: KeyedSeries): number {
  return a.name < b.name ? -1 : 1;
}

/** Stores as many examples of each series as there is room for, and counts them. */
async function addExamples(tx: PlainTransaction, keyed: readonly KeyedSeries[]): Promise<void> {
  const stored = new Map<string, number>();
  for (let start = 0; start < keyed.length; start += rowsPerStatement) {
    const part = keyed.slice(start, start + rowsPerStatement);
    for (const [account, quarter, project, key, model, reason, , examples] of await tx.find(
      counts,
      part.map(({ key }) => key),
    )) {
      const name = `${idFromBytes('acct', asBytes(account))} ${asNumber(quarter)} ${idFromBytes('proj', asBytes(project))} ${idFromBytes('key', asBytes(key))} ${asText(reason)} ${asText(model)}`;
      stored.set(name, asNumber(examples));
    }
  }
  const taken = keyed.map((each) => ({ ...each, examples: roomFor(each, stored.get(each.name) ?? 0) }));
  await inParts(
    tx,
    insertExamples,
    taken.flatMap(({ series, examples }) => examples.map((example) => rowOf(example, series))),
  );
  await inParts(
    tx,
    addCounts,
    taken.filter(({ examples }) => examples.length > 0).map(({ key, examples }) => [...key, 0, examples.length]),
  );
}

/** Returns the examples for which there is room in a series that has `stored` of them. */
function roomFor({ examples }: KeyedSeries, stored: number): readonly Refusal[] {
  const taken: Refusal[] = [];
  for (const example of examples) {
    if (stored + taken.length < examplesUntil(Number(example.refusedAtMs))) taken.push(example);
  }
  return taken;
}

async function inParts(
  tx: PlainTransaction,
  texts: Readonly<Record<'sqlite' | 'mysql', (rows: number) => string>>,
  rows: readonly Values[],
): Promise<void> {
  // On SQLite one prepared statement per row costs less than a statement for many.
  const perStatement = tx.engine === 'sqlite' ? 1 : rowsPerStatement;
  for (let start = 0; start < rows.length; start += perStatement) {
    const part = rows.slice(start, start + perStatement);
    await tx.run(texts[tx.engine](part.length), part.flat());
  }
}

function rowOf(example: Refusal, { accountId, projectId, keyId, modelId, reason }: Series): Values {
  return [
    bytesOf('req', example.requestId),
    bytesOf('acct', accountId),
    bytesOf('proj', projectId),
    bytesOf('key', keyId),
    modelId,
    example.requestedModel,
    reason,
    example.httpStatus,
    Number(example.refusedAtMs),
    example.endpoint,
    example.message,
    JSON.stringify(example.details),
    example.retryAfterMs ?? null,
    example.traceId,
    example.clientRequestId,
  ];
}

/** Returns the refusal in a row. */
export function refusalFromRow(row: Readonly<Record<string, unknown>>): Refusal {
  return {
    requestId: idFromBytes('req', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    projectId: idFromBytes('proj', asBytes(row['project_id'])),
    keyId: idFromBytes('key', asBytes(row['key_id'])),
    modelId: asText(row['model_id']),
    requestedModel: asText(row['requested_model']),
    reason: asText(row['reason']),
    httpStatus: asNumber(row['http_status']),
    refusedAtMs: asBigInt(row['refused_at_ms']),
    endpoint: asText(row['endpoint']),
    message: asText(row['message']),
    details: JSON.parse(asText(row['details'])) as Record<string, string>,
    retryAfterMs: optional(row['retry_after_ms'], asNumber),
    traceId: asText(row['trace_id']),
    clientRequestId: asText(row['client_request_id']),
  };
}
