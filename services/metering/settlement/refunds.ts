// Refunds whole answers that were charged and withheld. Refunds are sent at least once, and the ledger books each once by its idempotency key.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { callContext } from '#client/call-context.js';
import { hasReason } from '#client/errors/app-error.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { MeteringConfig } from '../config.js';
import { dueRefunds, endRefund, type PendingRefund, postponeRefund, RefundState } from '../store/settlement/refund-outbox.js';
import { isLedgerUnavailable, isRefusal, type LedgerOutage } from './ledger-outage.js';

const perPollMax = 50;
const backoffMinMs = 500;
const pending = { state: RefundState.pending, error: '' };
const booked = { state: RefundState.booked, error: '' };

/** Holds the dependencies of refunds. */
export interface RefundDeps {
  readonly config: MeteringConfig;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ledger: Pick<LedgerService, 'refund'>;
  readonly outage: LedgerOutage;
}

/** Starts to deliver refunds. Returns a function that stops it after the delivery in progress. */
export function startRefunds(deps: RefundDeps): () => Promise<void> {
  const { config, db, clock, log } = deps;
  let isStopping = false;
  const deliver = async (): Promise<void> => {
    for (const item of await dueRefunds(db, clock.nowMs(), perPollMax)) {
      // A ledger that does not answer delays each of them.
      if (isStopping) return;
      const { state, error } = await attempt(item, deps);
      if (state !== RefundState.pending) await endRefund(db, item, state, error);
      else
        await postponeRefund(
          db,
          item,
          clock.nowMs() + Math.min(config.settleBackoffMaxMs, backoffMinMs * 2 ** Math.min(item.attempts, 20)),
        );
    }
  };
  const stop = repeat(config.outboxPollMs, deliver, (error) => log.error({ err: error }, 'refunds could not be delivered'));
  return () => {
    isStopping = true;
    return stop();
  };
}

async function attempt(
  { callId, accountId, capturedNanoUsd }: PendingRefund,
  deps: RefundDeps,
): Promise<{ readonly state: RefundState; readonly error: string }> {
  const { config, log, ledger, outage } = deps;
  if (capturedNanoUsd === undefined) return pending;
  if (capturedNanoUsd === 0n) return booked;
  const names = { call_id: callId, account_id: accountId };
  try {
    const { replayed } = await ledger.refund(
      {
        idempotencyKey: `undelivered ${callId}`,
        accountId,
        holdId: callId,
        amountNanoUsd: undefined,
        reason: 'The answer was not delivered.',
      },
      callContext({ caller: 'metering', timeoutMs: config.settleTimeoutMs }),
    );
    outage.ended();
    if (!replayed) log.warn(names, 'the charge of an answer that was withheld from its client was refunded');
    return booked;
  } catch (error) {
    if (isRefunded(error)) return booked;
    if (isRefusal(error)) {
      log.error({ err: error, ...names }, 'the ledger refused a refund permanently; it is kept for operators');
      return { state: RefundState.refused, error: error.message };
    }
    if (isLedgerUnavailable(error)) outage.began(error);
    else log.error({ err: error, ...names }, 'a refund failed; it will be retried');
    return pending;
  }
}

/** Reports whether nothing is left to refund, because an operator has already refunded the charge. */
function isRefunded(error: unknown): boolean {
  if (!hasReason(error, 'failed_precondition')) return false;
  const { captured_nano_usd: captured, refunded_nano_usd: refunded } = error.details;
  return captured !== undefined && captured === refunded;
}
