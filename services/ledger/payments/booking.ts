// Books payments as journal entries, each once: the idempotency key contains the provider's own id.
import { hasReason } from '#client/errors/app-error.js';
import { dayMs } from '#kit/clock.js';
import { formatUsd } from '#rules/money/money.js';
import type { Logger } from '#kit/log.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { AccountState, type AuthService } from '#proto/auth/v1/auth.js';
import { BookAccount, DepositSource, type Entry, EntryKind, type LedgerService, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { withReference } from '#rules/money/reference.js';
import type { Paid, PaymentEvent } from './provider.js';
import { least } from '../books/buckets.js';
import { reversalOf } from './reversed-deposits.js';
import { report } from './review.js';

type Refunded = Extract<PaymentEvent, { kind: 'refunded' }>;
type Review = Extract<PaymentEvent, { kind: 'review' }>;

/**
 * How long after the adjustment for a total an event may be created and still report the same refund: the clocks differ, and a provider may create two
 * events for one refund. A bank takes longer to let a refund fail.
 */
const sameRefundMs = dayMs;
/** How far our clock may be behind that of the provider. */
const clockSkewMs = 300_000;
const stateTimeoutMs = 2000;
/** How many of the latest adjustments of an account are searched for one of the operator. */
const adjustmentsMax = 1000;

/** Holds the dependencies of booking. */
export interface BookingDeps {
  readonly ledger: Pick<LedgerService, 'deposit' | 'adjust' | 'getBalance' | 'getEntry' | 'getEntryByIdempotencyKey' | 'listEntries'>;
  readonly accounts: Pick<AuthService, 'getAccountState'>;
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
      return bookReview(provider, event, context, deps);
    case 'ignored':
  }
}

/** Returns the deposit of a payment, made now or before. */
export async function bookPaid(
  provider: string,
  { paymentId, accountId, amountNanoUsd }: Paid,
  context: CallContext,
  deps: BookingDeps,
): Promise<Entry> {
  const { ledger, log } = deps;
  const idempotencyKey = paymentKey(provider, paymentId);
  // The same in every repeat, or the ledger would reject the repeat as a different deposit.
  const reason = `${provider} ${paymentId}`;
  const { entry, replayed } = await ledger.deposit(
    { idempotencyKey, accountId, amountNanoUsd, source: DepositSource.DEPOSIT_SOURCE_CASH, reason },
    inNameOf(provider, context),
  );
  if (!replayed) {
    const facts = { provider, payment_id: paymentId, account_id: accountId, amount_usd: formatUsd(amountNanoUsd) };
    log.info(facts, 'a payment was credited');
    // The payment had begun before, as suspended accounts cannot begin any.
    if (await isSuspended(accountId, deps)) report(log, 'account_suspended', { ...facts, entry_id: entry!.id });
  }
  return entry!;
}

/** Reports whether an account is suspended, as far as auth responds. A payment is credited in any case. */
async function isSuspended(accountId: string, { accounts, log }: BookingDeps): Promise<boolean> {
  try {
    const { state } = await accounts.getAccountState({ accountId }, callContext({ caller: 'ledger', timeoutMs: stateTimeoutMs }));
    return state === AccountState.ACCOUNT_STATE_SUSPENDED;
  } catch (error) {
    log.warn({ err: error, account_id: accountId }, 'a payment was credited without knowing whether the account is suspended');
    return false;
  }
}

/** Reports an event to the operator, with what the journal contains about it. */
async function bookReview(
  provider: string,
  { review, what, payment, isStamped, refundId, details }: Review,
  context: CallContext,
  deps: BookingDeps,
): Promise<void> {
  const find = async (id: string | undefined): Promise<Entry | undefined> =>
    payment === undefined || id === undefined ? undefined : entryOf(payment.accountId, paymentKey(provider, id), context, deps);
  const deposit = await find(payment?.paymentId);
  // The payment belongs to another installation that uses the same account at the provider.
  if (payment !== undefined && !isStamped && deposit === undefined) return;
  const deducted = await find(refundId);
  report(deps.log, review, {
    provider,
    what,
    account_id: payment?.accountId,
    payment_id: payment?.paymentId,
    entry_id: deposit?.id,
    ...(deducted === undefined ? {} : { deducted_entry_id: deducted.id, deducted_usd: formatUsd(deducted.amountNanoUsd) }),
    ...details,
  });
}

/** Deducts what was refunded to the payer, each refund once. */
async function bookRefund(provider: string, event: Refunded, context: CallContext, deps: BookingDeps): Promise<void> {
  const { payment, isStamped, refunds, total, chargeId, eventId } = event;
  // A refund's event may arrive before that of its payment.
  const deposit = isStamped
    ? await bookPaid(provider, payment, context, deps)
    : await entryOf(payment.accountId, paymentKey(provider, payment.paymentId), context, deps);
  if (deposit === undefined) return;
  const reason = `refund of ${provider} ${payment.paymentId}`;
  const deductionOf = (key: string, amountNanoUsd: bigint, text: string): Deduction => ({
    key,
    amountNanoUsd,
    reason: text,
    eventId,
    deposit,
  });
  const ofTotal =
    total === undefined
      ? undefined
      : deductionOf(
          paymentKey(provider, `${chargeId}:${total.totalCents}`),
          total.addedNanoUsd,
          withReference(`${reason}, ${eventId}`, chargeId),
        );
  if (refunds === undefined) {
    await deduct(provider, await keyed(ofTotal!, event, context, deps), context, deps);
    return;
  }
  const first = ofTotal === undefined ? undefined : await entryOf(payment.accountId, ofTotal.key, context, deps);
  if (first !== undefined && refunds.every(({ createdAtMs }) => Number(first.createdAtMs) >= createdAtMs - clockSkewMs)) {
    // The provider did not return the refunds when the event was booked.
    if (first.reason !== ofTotal!.reason) repeated(provider, ofTotal!, first, deps);
    return;
  }
  if (refunds.length === 0) deps.log.info({ provider, ...factsOf(deposit), event: eventId }, 'a refund failed before it was deducted');
  for (const { refundId, amountNanoUsd } of refunds)
    await deduct(provider, deductionOf(paymentKey(provider, refundId), amountNanoUsd, withReference(reason, refundId)), context, deps);
}

/** Holds an amount to take from a balance. */
interface Deduction {
  readonly key: string;
  readonly amountNanoUsd: bigint;
  /** Identifies the refund, or the event if the provider does not identify the refund: it is the same in every repeat. */
  readonly reason: string;
  readonly eventId: string;
  /** The deposit of the payment. */
  readonly deposit: Entry;
}

/**
 * Takes an amount from the balance as far as it is available, because no balance goes below zero, and as far as operators have not reversed the deposit.
 */
async function deduct(provider: string, deduction: Deduction, context: CallContext, deps: BookingDeps): Promise<void> {
  const { key: idempotencyKey, amountNanoUsd, reason, eventId, deposit } = deduction;
  const { ledger, log } = deps;
  const { accountId, id: linkedEntryId } = deposit;
  const take = (takenNanoUsd: bigint) =>
    ledger.adjust({ idempotencyKey, accountId, amountNanoUsd: -takenNanoUsd, reason, linkedEntryId }, inNameOf(provider, context));
  const facts = { provider, ...factsOf(deposit), refund: reason, refunded_usd: formatUsd(amountNanoUsd), event: eventId };
  // A repeat of a refund that was deducted is recognized by its idempotency key.
  const isNew = (await entryOf(accountId, idempotencyKey, context, deps)) === undefined;
  const { reversedNanoUsd, leftNanoUsd } = await reversalOf(provider, deposit, context, ledger);
  const wantedNanoUsd = isNew && reversedNanoUsd > 0n ? least(amountNanoUsd, leftNanoUsd) : amountNanoUsd;
  try {
    if (wantedNanoUsd > 0n) {
      const { replayed } = await take(wantedNanoUsd);
      log.info(facts, replayed ? 'a refund was reported again, and had been deducted' : 'a refund was deducted from the balance');
    }
    if (wantedNanoUsd === amountNanoUsd) return;
  } catch (error) {
    if (hasReason(error, 'balance_empty')) {
      const { balance } = await ledger.getBalance({ accountId }, context);
      const availableNanoUsd = least(balance!.availableNanoUsd, wantedNanoUsd);
      if (availableNanoUsd > 0n) await take(availableNanoUsd).catch(mismatchIsDone);
    } else mismatchIsDone(error);
  }
  // An earlier attempt may have deducted another amount, and ended before it could report the rest.
  const taken = await entryOf(accountId, idempotencyKey, context, deps);
  const missingNanoUsd = amountNanoUsd - (taken?.amountNanoUsd ?? 0n);
  if (taken !== undefined && taken.reason !== reason) repeated(provider, deduction, taken, deps);
  else if (missingNanoUsd > 0n) {
    const reversed = reversedNanoUsd > 0n ? { reversed_usd: formatUsd(reversedNanoUsd) } : {};
    report(log, 'refund_short', { ...facts, missing_usd: formatUsd(missingNanoUsd), ...reversed });
  }
}

/**
 * Returns the deduction of a refund that the provider does not identify, with its key. The total refunded so far identifies it, but occurs again if a
 * refund fails or is canceled, and another is made. An event reports another refund if it was created long after the last adjustment for this total,
 * or after the operator had credited that adjustment back.
 */
async function keyed(deduction: Deduction, { createdAtMs }: Refunded, context: CallContext, deps: BookingDeps): Promise<Deduction> {
  const { key, deposit, eventId, reason } = deduction;
  const first = await entryOf(deposit.accountId, key, context, deps);
  if (first === undefined || first.reason === reason) return deduction;
  const kinds = [EntryKind.ENTRY_KIND_ADJUSTMENT];
  const request = ListEntriesRequest.fromPartial({ accountId: deposit.accountId, kinds, pageSize: adjustmentsMax });
  const { entries } = await deps.ledger.listEntries(request, context);
  const again = entries.filter(({ idempotencyKey }) => idempotencyKey.startsWith(`${key}:`));
  const last = again.find((entry) => entry.reason === reason) ?? again[0] ?? first;
  const wasCreditedBack = entries.some(
    (entry) =>
      entry.seq > last.seq &&
      entry.credit === BookAccount.BOOK_ACCOUNT_CUSTOMER &&
      (entry.linkedEntryId === deposit.id || entry.linkedEntryId === last.id) &&
      Number(entry.createdAtMs) <= createdAtMs,
  );
  const isOther = last.reason !== reason && (wasCreditedBack || createdAtMs > Number(last.createdAtMs) + sameRefundMs);
  return { ...deduction, key: isOther ? `${key}:${eventId}` : last.idempotencyKey };
}

/** Reports that nothing was deducted for an event, because another event has reported the same total. */
function repeated(provider: string, { amountNanoUsd, eventId, deposit }: Deduction, taken: Entry, { log }: BookingDeps): void {
  report(log, 'refund_repeated', {
    provider,
    ...factsOf(deposit),
    event: eventId,
    refunded_usd: formatUsd(amountNanoUsd),
    deducted_entry_id: taken.id,
    deducted_usd: formatUsd(taken.amountNanoUsd),
  });
}

function factsOf({ id, accountId, idempotencyKey }: Entry): Record<string, string> {
  return { account_id: accountId, payment_id: idempotencyKey.replace(/^[^:]*:/, ''), entry_id: id };
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
