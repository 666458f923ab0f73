// Books payments as journal entries, each once: the idempotency key contains the provider's own id.
import { hasReason } from '#client/errors/app-error.js';
import { dayMs } from '#kit/clock.js';
import { formatUsd } from '#rules/money/money.js';
import type { Logger } from '#kit/log.js';
import type { CallContext } from '#client/call-context.js';
import { DepositSource, type Entry, type LedgerService } from '#proto/ledger/v1/ledger.js';
import type { Paid, PaymentEvent } from './provider.js';

/**
 * How long after the adjustment of a refund an event may be created and still report the same refund: the clocks differ, and a provider may create two
 * events for one refund. A bank takes longer to let a refund fail.
 */
const sameRefundMs = dayMs;

/** Holds the dependencies of booking. */
export interface BookingDeps {
  readonly ledger: Pick<LedgerService, 'deposit' | 'adjust' | 'getBalance' | 'getEntryByIdempotencyKey'>;
  readonly log: Logger;
}

/** Returns the idempotency key of a payment's deposit. */
export function paymentKey(provider: string, paymentId: string): string {
  return `${provider}:${paymentId}`;
}

/** Returns a context that names the provider as the caller: its signature moves the money, whichever process or user delivered it. */
function inNameOf(provider: string, { signal, deadlineMs }: CallContext): CallContext {
  return { signal, caller: provider, ...(deadlineMs === undefined ? {} : { deadlineMs }) };
}

/** Books an event of a provider. Raises what the ledger raises, so that the provider sends the event again. */
export async function book(provider: string, event: PaymentEvent, context: CallContext, deps: BookingDeps): Promise<void> {
  switch (event.kind) {
    case 'paid':
      await bookPaid(provider, event, context, deps);
      return;
    case 'refunded':
      return bookRefund(provider, event, context, deps);
    case 'review':
      // The log line is the only way for an operator to notice it.
      deps.log.error(
        { provider, what: event.what, ...event.details },
        'the payment provider reported something that an operator must review',
      );
      return;
    case 'ignored':
  }
}

/** Returns the deposit of a payment, made now or before. */
export async function bookPaid(
  provider: string,
  { paymentId, accountId, amountNanoUsd }: Paid,
  context: CallContext,
  { ledger, log }: BookingDeps,
): Promise<Entry> {
  const idempotencyKey = paymentKey(provider, paymentId);
  // The same in every repeat, or the ledger would reject the repeat as a different deposit.
  const reason = `${provider} ${paymentId}`;
  const { entry, replayed } = await ledger.deposit(
    { idempotencyKey, accountId, amountNanoUsd, source: DepositSource.DEPOSIT_SOURCE_CASH, reason },
    inNameOf(provider, context),
  );
  if (!replayed)
    log.info({ provider, payment_id: paymentId, account_id: accountId, amount_usd: formatUsd(amountNanoUsd) }, 'a payment was credited');
  return entry!;
}

/** Deducts what was refunded to the payer, as far as it is available: no balance goes below zero. */
async function bookRefund(
  provider: string,
  event: Extract<PaymentEvent, { kind: 'refunded' }>,
  context: CallContext,
  deps: BookingDeps,
): Promise<void> {
  const { payment, amountNanoUsd, isStamped } = event;
  const { ledger, log } = deps;
  const { accountId } = payment;
  // A refund's event may arrive before that of its payment.
  const deposit = isStamped
    ? await bookPaid(provider, payment, context, deps)
    : await entryOf(accountId, paymentKey(provider, payment.paymentId), context, deps);
  if (deposit === undefined) return;
  const linkedEntryId = deposit.id;
  const idempotencyKey = await refundKey(provider, event, context, deps);
  const take = (takenNanoUsd: bigint) =>
    ledger.adjust(
      { idempotencyKey, accountId, amountNanoUsd: -takenNanoUsd, reason: `refund of ${provider} ${payment.paymentId}`, linkedEntryId },
      inNameOf(provider, context),
    );
  const facts = { provider, payment_id: payment.paymentId, account_id: accountId, refunded_usd: formatUsd(amountNanoUsd) };
  try {
    const { replayed } = await take(amountNanoUsd);
    if (!replayed) log.info(facts, 'a refund was deducted from the balance');
  } catch (error) {
    if (hasReason(error, 'balance_empty')) {
      const { balance } = await ledger.getBalance({ accountId }, context);
      const leftNanoUsd = balance!.availableNanoUsd < amountNanoUsd ? balance!.availableNanoUsd : amountNanoUsd;
      if (leftNanoUsd > 0n) await take(leftNanoUsd).catch(mismatchIsDone);
    } else mismatchIsDone(error);
    // An earlier attempt may have deducted another amount, and ended before it could report the rest.
    const taken = await entryOf(accountId, idempotencyKey, context, deps);
    log.error(
      { ...facts, missing_usd: formatUsd(amountNanoUsd - (taken?.amountNanoUsd ?? 0n)) },
      'a refund was larger than the available balance; the rest was spent or is held, and an operator must decide about it',
    );
  }
}

/**
 * Returns the idempotency key of a refund's adjustment. An event that was created long after the adjustment of its `refundId` reports another refund: the
 * first one failed, and was made again.
 */
async function refundKey(
  provider: string,
  { refundId, eventId, createdAtMs, payment }: Extract<PaymentEvent, { kind: 'refunded' }>,
  context: CallContext,
  deps: BookingDeps,
): Promise<string> {
  const key = paymentKey(provider, refundId);
  const first = await entryOf(payment.accountId, key, context, deps);
  return first !== undefined && createdAtMs > Number(first.createdAtMs) + sameRefundMs ? `${key}:${eventId}` : key;
}

function mismatchIsDone(error: unknown): void {
  if (!hasReason(error, 'idempotency_mismatch')) throw error;
}

/** Returns the entry with this idempotency key; undefined if there is none. */
export async function entryOf(
  accountId: string,
  idempotencyKey: string,
  context: CallContext,
  { ledger }: Pick<BookingDeps, 'ledger'>,
): Promise<Entry | undefined> {
  try {
    return (await ledger.getEntryByIdempotencyKey({ accountId, idempotencyKey }, context)).entry;
  } catch (error) {
    if (hasReason(error, 'not_found')) return undefined;
    throw error;
  }
}
