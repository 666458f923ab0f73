// GetOutbox: the state of the outbox, for operators and readiness.
import type { CallContext } from '#client/call-context.js';
import type { GetOutboxRequest, GetOutboxResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { readOutboxState } from '../store/settlement/outbox.js';

/** Counts waiting settlements, settlements that the ledger refused, and calls in flight. */
export async function getOutbox(_request: GetOutboxRequest, _context: CallContext, { db }: RpcDeps): Promise<GetOutboxResponse> {
  return readOutboxState(db);
}
