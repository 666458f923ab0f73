// RecordRefusals: adds a batch of refused calls, once, and sends the alerts about keys that it makes due.
import type { CallContext } from '#client/call-context.js';
import type { RecordRefusalsRequest, RecordRefusalsResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { validateRefusals } from '../requests/validate-refusals.js';
import { addRefusals } from '../store/refusals/refusals.js';

/** Raises invalid_request for a malformed batch. */
export async function recordRefusals(
  request: RecordRefusalsRequest,
  _context: CallContext,
  { db, clock, keyAlerts }: RpcDeps,
): Promise<RecordRefusalsResponse> {
  const series = validateRefusals(request);
  if (await addRefusals(db, request.batchId, series, clock.nowMs())) keyAlerts.wake();
  return {};
}
