// Books payments as journal entries, each once: the idempotency key contains the provider's own id.
import { hasReason } from '#client/errors/app-error.js';
import { formatUsd } from '#rules/money/money.js';
import type { Logger } from '#kit/log.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { AccountState, type AuthService } from '#proto/auth/v1/auth.js';
import { type AdjustRequest, DepositSource, type Entry, type LedgerService } from '#proto/ledger/v1/ledger.js';
import { withReference } from '#rules/money/reference.js';
import { least } from '../books/buckets.js';
import { owedNanoUsd } from './owed.js';
import type { Paid, PaymentEvent, Refund } from './provider.js';
import { report } from './review.js';

type Refunded = Extract<PaymentEvent, { kind: 'refunded' }>;
type Review = Extract<PaymentEvent, { kind: 'review' }>;

const stateTimeoutMs = 2000;
/** How often the deposit may be corrected by others while refunds are deducted from it. */
const changesMax = 10;

/** Holds the dependencies of booking. */
export interface BookingDeps {
  readonly ledger: Pick<LedgerService, 'deposit' | 'adjust' | 'getBalance' | 'getEntry' | 'getEntryByIdempotencyKey'>;
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

/** Returns the deposit of a payment, made now or before. Reports a suspended account in each repeat, because an earlier attempt may have ended before it could. */
export async function bookPaid(provider: string, payment: Paid, context: CallContext, deps: BookingDeps): Promise<Entry> {
  const { entry } = await credit(provider, payment, context, deps);
  await reviewSuspended(provider, payment, entry, deps);
  return entry;
}

/** Deposits a payment once. */
async function credit(
  provider: string,
  { paymentId, accountId, amountNanoUsd }: Paid,
  context: CallContext,
  { ledger, log }: BookingDeps,
): Promise<{ readonly entry: Entry; readonly replayed: boolean }> {
  const idempotencyKey = paymentKey(provider, paymentId);
  // The same in every repeat, or the ledger would reject the repeat as a different deposit.
  const reason = `${provider} ${paymentId}`;
  const { entry, replayed } = await ledger.deposit(
    { idempotencyKey, accountId, amountNanoUsd, source: DepositSource.DEPOSIT_SOURCE_CASH, reason },
    inNameOf(provider, context),
  );
  if (!replayed)
    log.info({ provider, payment_id: paymentId, account_id: accountId, amount_usd: formatUsd(amountNanoUsd) }, 'a payment was credited');
  return { entry: entry!, replayed };
}

/** Reports a payment that was credited to a suspended account. It had begun before, as suspended accounts cannot begin any. */
async function reviewSuspended(
  provider: string,
  { paymentId, accountId, amountNanoUsd }: Paid,
  entry: Entry,
  deps: BookingDeps,
): Promise<void> {
  if (!(await isSuspended(accountId, deps))) return;
  const facts = { provider, payment_id: paymentId, account_id: accountId, amount_usd: formatUsd(amountNanoUsd), entry_id: entry.id };
  report(deps.log, 'account_suspended', facts);
}

/** Reports whether an account is suspended, as far as auth responds. A payment is credited in any case. */
async function isSuspended(accountId: string, { accounts, log }: BookingDeps): Promise<boolean> {
  try {
    const { state } = await accounts.getAccountState({ accountId }, callContext({ caller: 'ledger', timeoutMs: stateTimeoutMs }));
    return state === AccountState.ACCOUNT_STATE_SUSPENDED;
  } catch (error) {
    log.warn({ err: error, account_id: accountId }, 'could not check whether the account of a payment is suspended');
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

/** Deducts what was refunded to the payer, each refund once, unless operators have taken it from the deposit. */
async function bookRefund(
  provider: string,
  { payment, isStamped, refunds, eventId }: Refunded,
  context: CallContext,
  deps: BookingDeps,
): Promise<void> {
  const { ledger, log } = deps;
  // A refund's event may arrive before that of its payment.
  const credited = isStamped ? await credit(provider, payment, context, deps) : undefined;
  const deposit = credited?.entry ?? (await entryOf(payment.accountId, paymentKey(provider, payment.paymentId), context, deps));
  if (deposit === undefined) return;
  // The account may have been suspended since, so a deposit that was made earlier says nothing about its state at the time of the payment.
  if (credited?.replayed === false) await reviewSuspended(provider, payment, deposit, deps);
  const { id: entryId, accountId } = deposit;
  const keyOf = ({ refundId }: Refund): string => paymentKey(provider, refundId);
  const facts = { provider, payment_id: payment.paymentId, account_id: accountId, entry_id: entryId, event: eventId };
  const tried = new Set<Refund>();
  for (let changes = 0; ;) {
    const { corrections, reversibleNanoUsd } = await ledger.getEntry({ accountId, entryId }, context);
    const known = new Set(corrections.map(({ idempotencyKey }) => idempotencyKey));
    const owed = owedNanoUsd(refunds, corrections, keyOf);
    const refund = refunds.find((each) => !each.hasFailed && !tried.has(each) && !known.has(keyOf(each)));
    const amountNanoUsd = least(least(owed, reversibleNanoUsd), refund?.amountNanoUsd ?? 0n);
    if (refund === undefined || amountNanoUsd === 0n) {
      // Reported in each repeat, because an earlier attempt may have ended before it could.
      if (owed > 0n) report(log, 'refund_short', { ...facts, missing_usd: formatUsd(owed) });
      return;
    }
    const { refundId } = refund;
    const reason = withReference(`refund of ${provider} ${payment.paymentId}`, refundId);
    const request = {
      idempotencyKey: keyOf(refund),
      accountId,
      reason,
      linkedEntryId: entryId,
      expectedReversibleNanoUsd: reversibleNanoUsd,
      paymentRefund: true,
    };
    try {
      const takenNanoUsd = await deduct(provider, amountNanoUsd, request, context, deps);
      log.info({ ...facts, refund: refundId, deducted_usd: formatUsd(takenNanoUsd) }, 'a refund was deducted from the balance');
      tried.add(refund);
    } catch (error) {
      // The deposit was corrected since it was read, for example by an operator's reversal, so what is owed is computed again.
      if (!isChanged(error) || ++changes > changesMax) throw error;
    }
  }
}

/** Takes an amount from the balance as far as it is available, because no balance goes below zero. Returns what was taken. */
async function deduct(
  provider: string,
  amountNanoUsd: bigint,
  request: Omit<AdjustRequest, 'amountNanoUsd'>,
  context: CallContext,
  deps: BookingDeps,
): Promise<bigint> {
  const { accountId, idempotencyKey } = request;
  const take = (takenNanoUsd: bigint) => deps.ledger.adjust({ ...request, amountNanoUsd: -takenNanoUsd }, inNameOf(provider, context));
  try {
    await take(amountNanoUsd);
  } catch (error) {
    if (hasReason(error, 'balance_empty')) {
      const { balance } = await deps.ledger.getBalance({ accountId }, context);
      const availableNanoUsd = least(balance!.availableNanoUsd, amountNanoUsd);
      if (availableNanoUsd > 0n) await take(availableNanoUsd).catch(mismatchIsDone);
    } else mismatchIsDone(error);
  }
  // Another event may have deducted the refund at the same time, and another amount of it.
  return (await entryOf(accountId, idempotencyKey, context, deps))?.amountNanoUsd ?? 0n;
}

function isChanged(error: unknown): boolean {
  return hasReason(error, 'failed_precondition') && error.details['rule'] === 'entry_changed';
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
