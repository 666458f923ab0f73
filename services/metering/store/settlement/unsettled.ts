// Charges that the ledger has not taken, and refunds that it refused, for operators: listed, retried, or closed. A refund is a negative charge.
import type { Knex } from 'knex';
import { AppError } from '#client/errors/app-error.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { type UnsettledCharge, UnsettledState } from '#proto/metering/v1/metering.js';
import { bytesOf } from '../records/record-rows.js';
import { deferred, pending } from './outbox.js';
import { RefundState } from './refund-outbox.js';

const awaitsReport =
  'The gateway of the call was lost. Until TOLLGATE_METERING_LOST_GRACE has passed, it may still report how the call ended.';
const failed = 1;
const common = ['id', 'account_id', 'key_id', 'charge_nano_usd', 'attempts', 'created_at_ms', 'last_error'] as const;

type CommonRow = Record<(typeof common)[number], unknown>;
type ListedRow = CommonRow & { state?: unknown; reason?: unknown; closed_at_ms?: unknown };

const refunds = (knex: Knex): Knex.QueryBuilder =>
  knex('refund_outbox')
    .join('usage_record', 'usage_record.id', 'refund_outbox.id')
    .where('refund_outbox.state', RefundState.refused)
    .select('refund_outbox.*', 'usage_record.key_id', knex.raw('-usage_record.captured_nano_usd AS charge_nano_usd'));

/** Selects charges: UNSPECIFIED for those that wait and those that were refused; of one account, or (empty) of all. */
export interface UnsettledFilter {
  readonly accountId: string;
  readonly state: UnsettledState;
}

/** Returns at most `limit` charges after this call (empty: from the first), oldest call first. */
export async function unsettledAfter(
  db: Database,
  filter: UnsettledFilter,
  afterCallId: string,
  limit: number,
): Promise<UnsettledCharge[]> {
  const isClosed = filter.state === UnsettledState.UNSETTLED_STATE_CLOSED;
  const query = isClosed
    ? db.knex('closed_settlement').select(...common, 'reason', 'closed_at_ms')
    : db.knex('outbox').select(...common, 'state');
  if (filter.accountId !== '') query.where('account_id', bytesOf('acct', filter.accountId));
  // The charge of a lost call waits too, until gateways have had time to report the call.
  if (filter.state === UnsettledState.UNSETTLED_STATE_PENDING) query.whereNot('state', failed);
  if (filter.state === UnsettledState.UNSETTLED_STATE_REJECTED) query.where('state', failed);
  if (afterCallId !== '') query.where('id', '>', bytesOf('req', afterCallId));
  const rows = (await query.orderBy('id').limit(limit)) as ListedRow[];
  if (!isClosed && filter.state !== UnsettledState.UNSETTLED_STATE_PENDING) {
    const refused = refunds(db.knex).orderBy('refund_outbox.id').limit(limit);
    if (filter.accountId !== '') refused.where('refund_outbox.account_id', bytesOf('acct', filter.accountId));
    if (afterCallId !== '') refused.where('refund_outbox.id', '>', bytesOf('req', afterCallId));
    rows.push(...((await refused) as ListedRow[]));
  }
  const page = rows.toSorted((one, other) => asBytes(one.id).compare(asBytes(other.id))).slice(0, limit);
  return page.map((row) => ({
    ...chargeOf(row),
    state: isClosed
      ? filter.state
      : asNumber(row.state) === failed
        ? UnsettledState.UNSETTLED_STATE_REJECTED
        : UnsettledState.UNSETTLED_STATE_PENDING,
    closedAtMs: isClosed ? asBigInt(row.closed_at_ms) : 0n,
    closeReason: isClosed ? asText(row.reason) : '',
  }));
}

/** Makes refused charges and refunds due now, one or (without an id) all; returns how many. `audit` runs in the same transaction. */
export async function retryRefused(
  db: Database,
  callId: string | undefined,
  nowMs: number,
  audit: (tx: Knex.Transaction, retried: number) => Promise<void>,
): Promise<number> {
  return db.transaction(async (tx) => {
    const which = callId === undefined ? {} : { id: bytesOf('req', callId) };
    const due = { next_attempt_at_ms: nowMs };
    const retried =
      (await tx('outbox')
        .where({ ...which, state: failed })
        .update({ ...due, state: pending })) +
      (await tx('refund_outbox')
        .where({ ...which, state: RefundState.refused })
        .update({ ...due, state: RefundState.pending }));
    if (retried > 0) await audit(tx, retried);
    return retried;
  });
}

/** Reports whether the charge of a call is settled or waits for the ledger. */
export async function isRetried(db: Database, callId: string): Promise<boolean> {
  const id = bytesOf('req', callId);
  const settled = db.knex('usage_record').select('id').where({ id }).whereNotNull('settled_at_ms');
  return (await db.knex('outbox').select('id').where({ id }).unionAll(settled).limit(1)).length > 0;
}

/**
 * Closes a refused charge or refund; one that is already closed for the same reason is returned as it is. Raises not_found, and failed_precondition
 * for one that the ledger has not refused.
 */
export async function closeRefused(
  db: Database,
  callId: string,
  reason: string,
  nowMs: number,
  audit: (tx: Knex.Transaction, charge: UnsettledCharge) => Promise<void>,
): Promise<UnsettledCharge> {
  const id = bytesOf('req', callId);
  return db.transaction(async (tx) => {
    const charged: (CommonRow & { state: unknown }) | undefined = await tx('outbox')
      .select(...common, 'state')
      .where({ id })
      .forUpdate()
      .first();
    const row =
      charged ?? ((await refunds(tx).where('refund_outbox.id', id).forUpdate().first()) as (CommonRow & { state: unknown }) | undefined);
    const closed = row === undefined ? ((await tx('closed_settlement').where({ id }).first()) as ListedRow | undefined) : undefined;
    if (closed !== undefined && asText(closed.reason) === reason) return closedCharge(closed);
    if (row === undefined)
      throw new AppError('not_found', `No charge of the call ${callId} waits for the ledger.`, { details: { what: 'settlement' } });
    if (asNumber(row.state) !== failed) {
      throw new AppError(
        'failed_precondition',
        `The charge of the call ${callId} still waits for the ledger; only one that the ledger has refused can be closed.`,
      );
    }
    await tx('outbox').where({ id }).delete();
    // If the charge was refused, nothing was captured, so nothing is to be refunded.
    await tx('refund_outbox').where({ id }).delete();
    const kept = Object.fromEntries(common.map((column) => [column, row[column]]));
    // Replaces a refund that was closed before the ledger was restored from a backup and then refused the charge.
    await tx('closed_settlement')
      .insert({ ...kept, reason, closed_at_ms: nowMs })
      .onConflict('id')
      .merge();
    const charge = closedCharge({ ...row, reason, closed_at_ms: nowMs });
    await audit(tx, charge);
    return charge;
  });
}

function closedCharge(row: ListedRow): UnsettledCharge {
  return {
    ...chargeOf(row),
    state: UnsettledState.UNSETTLED_STATE_CLOSED,
    closedAtMs: asBigInt(row.closed_at_ms),
    closeReason: asText(row.reason),
  };
}

function chargeOf(row: ListedRow): Omit<UnsettledCharge, 'state' | 'closedAtMs' | 'closeReason'> {
  return {
    callId: idFromBytes('req', asBytes(row.id)),
    accountId: idFromBytes('acct', asBytes(row.account_id)),
    keyId: idFromBytes('key', asBytes(row.key_id)),
    chargeNanoUsd: asBigInt(row.charge_nano_usd),
    attempts: asNumber(row.attempts),
    error: asNumber(row.state ?? pending) === deferred ? awaitsReport : asText(row.last_error),
    recordedAtMs: asBigInt(row.created_at_ms),
  };
}
