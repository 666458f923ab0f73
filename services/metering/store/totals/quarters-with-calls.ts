// Finds from the sums in which quarters of an hour there were calls that match a filter by project, model, outcome or several dimensions, newest first.
// So a page of them is found without reading all records of the account or key.
import type { Database } from '#kit/db/open.js';
import { asNumber } from '#kit/db/values.js';
import type { UsageFilter } from '#proto/metering/v1/metering.js';
import type { Stretch } from '../../rollups/plan.js';
import { allQuartersOf, anyId, hashOf, quarterMs } from '../../rollups/shapes.js';
import { hasBacklog, Phase } from '../sums/rollup-steps.js';
import { bytesOf } from '../records/record-rows.js';
import { filterOf, shapeOf, type Statement } from './summed-totals.js';

/** Maximum number of calls of the matching quarters that are read and sorted; if there are more, the newest are found quickly along an index. */
const callsMax = 5000;

/** Holds the quarter hours in which such calls started. */
export interface Quarters {
  /** Newest first. */
  readonly stretches: readonly Stretch[];
  /** Whether there are no older ones. */
  readonly areAll: boolean;
}

/** Reports whether an index of an account's records finds the calls of this filter. */
export function isIndexed({ projectIds, keyId, keyIds, modelId, outcome }: UsageFilter): boolean {
  const hasList = projectIds.length > 0 || keyIds.length > 0;
  return modelId === '' && outcome === 0 && (!hasList || keyId !== '');
}

/**
 * Returns the quarters that hold at least `limit` calls of the filter that started before `untilMs`, or all that there are. Returns undefined if an
 * index finds the calls, if there are very many, or if the sums do not cover all of them: for all accounts, during the initial backfill, and while very many records wait to be
 * added to them.
 */
export async function quartersWithCalls(db: Database, filter: UsageFilter, untilMs: number, limit: number): Promise<Quarters | undefined> {
  if (filter.accountId === '' || isIndexed(filter) || (await hasBacklog(db))) return undefined;
  // The quarters at both ends may contain no matching calls.
  const { text, values } = statementOf(filter, untilMs, limit + 2);
  const rows = (await db.plainTransaction((tx) => tx.query(text, values))).map((row) => ({
    kind: asNumber(row['kind']),
    at: asNumber(row['bucket']),
    calls: asNumber(row['calls']),
  }));
  if (rows.find(({ kind }) => kind === 0)?.at !== Phase.complete) return undefined;
  const calls = new Map<number, number>();
  for (const { kind, at, calls: more } of rows) if (kind !== 0) calls.set(at, (calls.get(at) ?? 0) + more);
  const newestFirst = [...calls.keys()].sort((a, b) => b - a);
  const stretches: Stretch[] = [];
  let [counted, read] = [0, 0];
  for (const at of newestFirst) {
    // There may be older quarters that the statement left out.
    if (counted >= limit || stretches.length === limit + 2) return { stretches, areAll: false };
    stretches.push({ fromMs: at, untilMs: at + quarterMs });
    read += calls.get(at)!;
    if (read > callsMax + limit) return undefined;
    if (at >= Number(filter.fromMs) && at + quarterMs <= untilMs) counted += calls.get(at)!;
  }
  return { stretches, areAll: newestFirst.length < limit + 2 };
}

/**
 * Returns a statement that reads how complete the sums are, the newest quarters of each part of the series, and those of calls that are not yet in the
 * sums, all as of one instant.
 */
function statementOf(filter: UsageFilter, untilMs: number, quarters: number): Statement {
  const account = bytesOf('acct', filter.accountId);
  const shape = shapeOf({ filter, columns: new Set() });
  // A project has several keys, and a key may have been in several projects.
  const hasSeveral = filter.keyId !== '' || filter.keyIds.length > 0 || filter.projectIds.length > 0;
  const ofFilter = filterOf(filter, 's');
  const series = hasSeveral
    ? {
        text: `IN (SELECT s.series FROM usage_series s WHERE s.account_id = ? AND s.shape = ${shape}${ofFilter.text})`,
        values: ofFilter.values,
      }
    : {
        text: '= (SELECT series FROM usage_series WHERE account_id = ? AND dimensions_hash = ?)',
        values: [hashOf({ shape, projectId: anyId, keyId: anyId, modelId: filter.modelId, outcome: filter.outcome })],
      };
  const before = Number.isFinite(untilMs) ? untilMs : Number.MAX_SAFE_INTEGER;
  const from = Number(filter.fromMs) - (Number(filter.fromMs) % quarterMs);
  const conditions = filterOf(filter, 'r');
  const quarterOf = `r.started_at_ms - r.started_at_ms % ${quarterMs}`;
  const members: Statement[] = [
    { text: 'SELECT 0 AS kind, phase AS bucket, 0 AS calls FROM usage_summing', values: [] },
    ...allQuartersOf(shape).map((part) => ({
      text:
        `SELECT * FROM (SELECT 1 AS kind, bucket_ms AS bucket, ${hasSeveral ? 'SUM(calls) AS calls' : 'calls'} FROM usage_sum WHERE account_id = ? AND part = ${part}` +
        ` AND series ${series.text}` +
        ` AND bucket_ms >= ? AND bucket_ms < ?${hasSeveral ? ' GROUP BY bucket_ms' : ''} ORDER BY bucket_ms DESC LIMIT ?) AS part${part}`,
      values: [account, account, ...series.values, from, before, quarters],
    })),
    {
      text:
        `SELECT 2 AS kind, ${quarterOf} AS bucket, COUNT(*) AS calls FROM usage_unfolded u CROSS JOIN usage_record r ON r.id = u.id` +
        ` WHERE u.account_id = ? AND r.started_at_ms + 0 >= ? AND r.started_at_ms + 0 < ?${conditions.text} GROUP BY ${quarterOf}`,
      values: [account, from, before, ...conditions.values],
    },
  ];
  return { text: members.map(({ text }) => text).join(' UNION ALL '), values: members.flatMap(({ values }) => values) };
}
