// The state of the outbox, for operators and readiness.
import type { CallContext } from '#client/call-context.js';
import type { GetOutboxRequest, GetOutboxResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { readOutboxState } from '../store/outbox.js';

/** Counts what waits, what the ledger refused and which calls are in flight. */
export async function getOutbox(_request: GetOutboxRequest, _context: CallContext, { db }: RpcDeps): Promise<GetOutboxResponse> {
  return readOutboxState(db);
}
