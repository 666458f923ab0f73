// The persistent state of the reconcile job, so that it continues where it stopped, on any replica.
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';

/** The two kinds of runs. */
export type RunName = 'recent' | 'full';

/** Holds the state of one kind of run. */
export interface RunState {
  readonly name: RunName;
  /** When the next run, or the next part of it, may begin. */
  readonly dueAtMs: number;
  /** Calls that started before this have been checked by the recent runs. */
  readonly watermarkMs: number;
  /** Where the next part of a full run begins; empty at its beginning. */
  readonly pageToken: string;
  /** For recent runs the calls that were in progress, for a full run what it has found so far. */
  readonly progress: Uint8Array;
  /** The last finished run; empty before the first. */
  readonly result: Uint8Array;
}

const columns = ['name', 'due_at_ms', 'watermark_ms', 'page_token', 'progress', 'result'] as const;

/** Returns the stored runs. */
export async function readRuns(db: Database): Promise<RunState[]> {
  const rows: Record<(typeof columns)[number], unknown>[] = await db.knex('reconcile_state').select(...columns);
  return rows.map((row) => ({
    name: asText(row.name) as RunName,
    dueAtMs: asNumber(row.due_at_ms),
    watermarkMs: asNumber(row.watermark_ms),
    pageToken: asText(row.page_token),
    progress: asBytes(row.progress),
    result: asBytes(row.result),
  }));
}

/** Creates the runs that are missing, due immediately. Anything older than this instant is left to the full run. */
export async function ensureRuns(db: Database, nowMs: number): Promise<void> {
  const known = new Set((await readRuns(db)).map(({ name }) => name));
  for (const name of ['recent', 'full'] as const) {
    if (known.has(name)) continue;
    const empty = Buffer.alloc(0);
    await db
      .knex('reconcile_state')
      .insert({ name, due_at_ms: nowMs, watermark_ms: nowMs, page_token: '', progress: empty, result: empty })
      .catch((error: unknown) => {
        // Another replica was faster.
        if (!isDuplicate(error)) throw error;
      });
  }
}

/** Claims a run until then; returns false when another replica has claimed it since it was read. */
export async function claimRun(db: Database, run: RunState, untilMs: number): Promise<boolean> {
  return (await db.knex('reconcile_state').where({ name: run.name, due_at_ms: run.dueAtMs }).update({ due_at_ms: untilMs })) === 1;
}

/** Stores the state of a run that is claimed until then; changes nothing when another replica has claimed it meanwhile. */
export async function storeRun(db: Database, run: RunState, claimedUntilMs: number): Promise<void> {
  await db
    .knex('reconcile_state')
    .where({ name: run.name, due_at_ms: claimedUntilMs })
    .update({
      due_at_ms: run.dueAtMs,
      watermark_ms: run.watermarkMs,
      page_token: run.pageToken,
      progress: Buffer.from(run.progress),
      result: Buffer.from(run.result),
    });
}
