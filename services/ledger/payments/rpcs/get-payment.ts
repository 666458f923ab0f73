// GetPayment: whether a payment has been credited.
import { fault } from '#client/errors/fault.js';
import { AppError } from '#client/errors/app-error.js';
import { type CallContext, callContext } from '#client/call-context.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import type { GetPaymentRequest, GetPaymentResponse } from '#proto/ledger/v1/payments.js';
import { checkedId } from '../../requests/fields.js';
import { Allowance } from '../allowance.js';
import { bookPaid, entryOf, paymentKey } from '../booking.js';
import { type PaymentDeps, providerOf } from '../deps.js';
import type { PaymentProvider } from '../provider.js';

/** Minimum time between queries to the provider about one payment, while its event has not arrived. */
const queryAgainMs = 5000;
const queriedMax = 1000;
/** How many queries to the provider one account may cause within a minute. */
const queriesPerMinute = 30;
const paymentForm = /^[A-Za-z0-9_]{1,190}$/;

/** Returns the RPC. It raises invalid_request, not_found, failed_precondition (no provider), and what the ledger raises. */
export function getPayment(deps: PaymentDeps): (request: GetPaymentRequest, context?: CallContext) => Promise<GetPaymentResponse> {
  const queriedAtMs = new Map<string, number>();
  const allowance = new Allowance(queriesPerMinute, 60_000);
  return async ({ accountId: account, paymentId }, context = callContext({ caller: 'unknown' })) => {
    const provider = providerOf(deps);
    const accountId = checkedId('account_id', 'acct', account);
    if (!paymentForm.test(paymentId)) throw fault('no_such_id', { what: 'payment' });
    const credited = await entryOf(accountId, paymentKey(provider.name, paymentId), context, deps);
    if (credited !== undefined) return { entry: credited };
    const nowMs = deps.clock.monotonicMs();
    // A caller that invents ids uses up only the allowance of its own account; the event of a real payment arrives anyway.
    const mayQuery = isTimeToQuery(queriedAtMs, paymentId, nowMs) && allowance.take(accountId, nowMs) === 0;
    return { entry: mayQuery ? await creditLate(provider, accountId, paymentId, context, deps) : undefined };
  };
}

async function creditLate(
  provider: PaymentProvider,
  accountId: string,
  paymentId: string,
  context: CallContext,
  deps: PaymentDeps,
): Promise<Entry | undefined> {
  const paid = await provider.findPaid(paymentId).catch((error: unknown) => {
    // The provider's event reports the payment later.
    if (error instanceof AppError) return undefined;
    throw error;
  });
  return paid === undefined || paid.accountId !== accountId ? undefined : bookPaid(provider.name, paid, context, deps);
}

function isTimeToQuery(queriedAtMs: Map<string, number>, paymentId: string, nowMs: number): boolean {
  if (nowMs - (queriedAtMs.get(paymentId) ?? -queryAgainMs) < queryAgainMs) return false;
  if (queriedAtMs.size >= queriedMax) queriedAtMs.delete(queriedAtMs.keys().next().value!);
  queriedAtMs.delete(paymentId);
  queriedAtMs.set(paymentId, nowMs);
  return true;
}
