// The hold of a call that a registered caller reports. Calls of the gateway are not checked: it holds before each of them, and its reports must not wait
// for another round trip.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { builtInCallers } from '#rules/access/callers.js';
import { type Hold, HoldState } from '#proto/ledger/v1/ledger.js';
import type { Call } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { isLedgerUnavailable } from '../settlement/ledger-outage.js';
import { findRecord } from '../store/records/records.js';

/** As many holds as the ledger returns for one request. */
const holdsMax = 500;
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
export async function requireHold(call: Call, context: CallContext, deps: RpcDeps): Promise<void> {
  const refusal = (await holdFaults([call], context, deps)).get(call.id);
  if (refusal !== undefined && (await findRecord(deps.db, call.id)) === undefined) throw refusal;
}

/**
 * Returns why calls of a registered caller cannot be charged to their holds, by the ids of those calls. It is empty while the ledger is unavailable. A
 * caller's deadline may be too short for the ledger, so a timeout here does not begin an outage.
 */
export async function holdFaults(
  calls: readonly Call[],
  { caller, deadlineMs }: CallContext,
  { config, ledger, outage }: RpcDeps,
): Promise<ReadonlyMap<string, AppError>> {
  const faults = new Map<string, AppError>();
  if (Object.hasOwn(builtInCallers, caller)) return faults;
  for (let first = 0; first < calls.length && !outage.isOn(); first += holdsMax) {
    const part = calls.slice(first, first + holdsMax);
    const items = part.map(({ id, accountId }) => ({ holdId: id, accountId }));
    // The caller must still be waiting when its usage is recorded without this check.
    const callerWaitsMs = deadlineMs === undefined ? config.checkpointTimeoutMs : (deadlineMs - Date.now()) / 2;
    const context = callContext({ caller: 'metering', timeoutMs: Math.min(config.checkpointTimeoutMs, callerWaitsMs) });
    const found = await ledger.batchGetHolds({ items }, context).catch((error: unknown) => {
      if (!isLedgerUnavailable(error)) throw error;
      return undefined;
    });
    if (found === undefined) break;
    for (const call of part) {
      const unheld = faultOf(
        call,
        found.holds.find(({ id }) => id === call.id),
      );
      if (unheld !== undefined) faults.set(call.id, unheld);
    }
  }
  return faults;
}

function faultOf({ id, keyId }: Call, hold: Hold | undefined): AppError | undefined {
  if (hold === undefined) {
    const message = `The call ${id} has no hold. Call Hold with this id before you record its usage.`;
    return new AppError('not_found', message, { details: { what: 'hold' } });
  }
  const end = ends.get(hold.state);
  if (end !== undefined) return new AppError('hold_closed', `The hold ${id} was ${end} without a record. Hold again under a new id.`);
  return hold.keyId === keyId ? undefined : fault('id_mismatch', { id });
}
