// GetHealth: metering's process and database, what waits for the ledger, and how many upstream reports were implausible.
import { processInfo } from '#kit/process/process-info.js';
import type { CallContext } from '#client/call-context.js';
import type { GetHealthRequest, GetHealthResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { readOutboxState } from '../store/settlement/outbox.js';
import { countQuarantined } from '../store/records/records.js';

const quarantineSpanMs = 3_600_000;
/** On MySQL, counting reads every call of the hour, so the count is not repeated for every page view. */
const countKeptMs = 60_000;

interface Count {
  readonly atMs: number;
  readonly quarantined: Promise<bigint>;
}

const counts = new WeakMap<object, Count>();

/** Queries the database, and so fails while it is unavailable. */
export async function getHealth(
  _request: GetHealthRequest,
  _context: CallContext,
  { db, clock }: Pick<RpcDeps, 'db' | 'clock'>,
): Promise<GetHealthResponse> {
  const atMs = clock.monotonicMs();
  let count = counts.get(db);
  if (count === undefined || atMs - count.atMs >= countKeptMs) {
    count = { atMs, quarantined: countQuarantined(db, clock.nowMs() - quarantineSpanMs) };
    counts.set(db, count);
    // A failed count is repeated.
    count.quarantined.catch(() => counts.delete(db));
  }
  return { process: await processInfo(db, 'metering'), outbox: await readOutboxState(db), quarantinedLastHour: await count.quarantined };
}
