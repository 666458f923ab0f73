// The hold of a call that a registered caller reports. Calls of the gateway are not checked: it holds before each of them, and its reports must not wait
// for another round trip.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { builtInCallers } from '#rules/access/callers.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import type { Call } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { isLedgerUnavailable } from '../settlement/ledger-outage.js';
import { findRecord } from '../store/records/records.js';

// An expired hold is charged from what is free.
const ends: ReadonlyMap<HoldState, string> = new Map([
  [HoldState.HOLD_STATE_RELEASED, 'released'],
  [HoldState.HOLD_STATE_SETTLED, 'settled'],
]);

/**
 * Raises not_found if the call has no hold, hold_closed if its hold was released or settled, and idempotency_mismatch if the hold is for another key.
 * Otherwise its charge would bypass the limits that a hold checks, or the ledger would reject it after the record is stored. A call that is on record
 * passes, so that a repeat returns the record. While the ledger is unavailable, all calls pass, because the use may not be reported again.
 */
export async function requireHold(call: Call, { caller }: CallContext, deps: RpcDeps): Promise<void> {
  if (Object.hasOwn(builtInCallers, caller)) return;
  const refusal = await refusalOf(call, deps);
  if (refusal !== undefined && (await findRecord(deps.db, call.id)) === undefined) throw refusal;
}

async function refusalOf({ id, accountId, keyId }: Call, { config, ledger, outage }: RpcDeps): Promise<AppError | undefined> {
  const context = callContext({ caller: 'metering', timeoutMs: config.checkpointTimeoutMs });
  const found = await ledger.batchGetHolds({ items: [{ holdId: id, accountId }] }, context).catch((error: unknown) => {
    if (!isLedgerUnavailable(error)) throw error;
    outage.began(error);
    return undefined;
  });
  if (found === undefined) return undefined;
  const [hold] = found.holds;
  if (hold === undefined) {
    const message = `The call ${id} has no hold. Call Hold with this id before you record its usage.`;
    return new AppError('not_found', message, { details: { what: 'hold' } });
  }
  const end = ends.get(hold.state);
  if (end !== undefined) return new AppError('hold_closed', `The hold ${id} was ${end} without a record. Hold again under a new id.`);
  return hold.keyId === keyId ? undefined : fault('id_mismatch', { id });
}
