// Payments become entries of the journal here, each once: the idempotency key is made of the provider's own id.
import { AppError, hasReason } from '#client/errors/app-error.js';
import { formatUsd } from '#rules/money.js';
import type { Logger } from '#kit/log.js';
import type { CallContext } from '#client/call-context.js';
import { DepositSource, type Entry, type LedgerService } from '#proto/ledger/v1/ledger.js';
import type { Paid, PaymentEvent } from './provider.js';

/** What booking works with. */
export interface BookingDeps {
  readonly ledger: Pick<LedgerService, 'deposit' | 'adjust' | 'getBalance'>;
  readonly log: Logger;
}

/** The idempotency key of a payment's deposit. */
export function paymentKey(provider: string, paymentId: string): string {
  return `${provider}:${paymentId}`;
}

/** The provider's proof moves the money, whichever process or user brings it. */
function inNameOf(provider: string, { signal, deadlineMs }: CallContext): CallContext {
  return { signal, caller: provider, ...(deadlineMs === undefined ? {} : { deadlineMs }) };
}

/** Books what a provider told. Raises what the ledger raises, so that the provider tells it again. */
export async function book(provider: string, event: PaymentEvent, context: CallContext, deps: BookingDeps): Promise<void> {
  switch (event.kind) {
    case 'paid':
      await bookPaid(provider, event, context, deps);
      return;
    case 'refunded':
      return bookRefund(provider, event, context, deps);
    case 'noticed':
      // Nobody else would look at it.
      deps.log.error(
        { provider, what: event.what, ...event.details },
        'the payment provider told of something that a person has to look at',
      );
      return;
    case 'ignored':
  }
}

/** The deposit of a payment, made now or before. */
export async function bookPaid(
  provider: string,
  { paymentId, accountId, amountNanoUsd }: Paid,
  context: CallContext,
  { ledger, log }: BookingDeps,
): Promise<Entry> {
  const idempotencyKey = paymentKey(provider, paymentId);
  // The same in every repeat, or the ledger would take it for another deposit.
  const reason = `${provider} ${paymentId}`;
  const { entry, replayed } = await ledger.deposit(
    { idempotencyKey, accountId, amountNanoUsd, source: DepositSource.DEPOSIT_SOURCE_CASH, reason },
    inNameOf(provider, context),
  );
  if (!replayed)
    log.info({ provider, payment_id: paymentId, account_id: accountId, amount_usd: formatUsd(amountNanoUsd) }, 'a payment was credited');
  return entry!;
}

/** Takes back what was given back to the payer, as far as it is there: no balance goes below zero. */
async function bookRefund(
  provider: string,
  event: Extract<PaymentEvent, { kind: 'refunded' }>,
  context: CallContext,
  deps: BookingDeps,
): Promise<void> {
  const { payment, refundId, amountNanoUsd } = event;
  const { ledger, log } = deps;
  const { accountId } = payment;
  // The event of the payment may come after that of its refund.
  const { id: linkedEntryId } = await bookPaid(provider, payment, context, deps);
  const take = (takenNanoUsd: bigint) =>
    ledger.adjust(
      {
        idempotencyKey: paymentKey(provider, refundId),
        accountId,
        amountNanoUsd: -takenNanoUsd,
        reason: `refund of ${provider} ${payment.paymentId}`,
        linkedEntryId,
      },
      inNameOf(provider, context),
    );
  const facts = { provider, payment_id: payment.paymentId, account_id: accountId, refunded_usd: formatUsd(amountNanoUsd) };
  try {
    const { replayed } = await take(amountNanoUsd);
    if (!replayed) log.info(facts, 'a refund was taken from the balance');
  } catch (error) {
    // Less was there at an earlier try, and was taken.
    if (hasReason(error, 'idempotency_mismatch')) return;
    if (!hasReason(error, 'balance_empty')) throw error;
    const { balance } = await ledger.getBalance({ accountId }, context);
    const leftNanoUsd = balance!.availableNanoUsd < amountNanoUsd ? balance!.availableNanoUsd : amountNanoUsd;
    if (leftNanoUsd > 0n) await take(leftNanoUsd).catch(mismatchIsDone);
    log.error(
      { ...facts, missing_usd: formatUsd(amountNanoUsd - leftNanoUsd) },
      'a refund was larger than the available balance; the rest was spent or is held, and a person has to decide about it',
    );
  }
}

function mismatchIsDone(error: unknown): void {
  if (!(error instanceof AppError) || error.reason !== 'idempotency_mismatch') throw error;
}
