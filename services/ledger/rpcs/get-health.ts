// GetHealth: the ledger's process and database, its open holds, and the last comparison of all books.
import type { CallContext } from '#client/call-context.js';
import type { GetHealthRequest, GetHealthResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';

/** Queries the database, and so fails while it is unavailable. */
export async function getHealth(
  _request: GetHealthRequest,
  _context: CallContext,
  { reads, clock, lastCheck }: RpcDeps,
): Promise<GetHealthResponse> {
  const process = await reads.processInfo();
  const { open, pastExpiry } = await reads.countOpenHolds(clock.nowMs());
  return {
    process,
    openHolds: BigInt(open),
    holdsPastExpiry: BigInt(pastExpiry),
    oldestOpenHoldAtMs: await reads.oldestOpenHoldAtMs(),
    lastCheck: lastCheck.books,
    oldestUnshippedNotificationAtMs: await reads.oldestUnshippedNotificationAtMs(),
  };
}
