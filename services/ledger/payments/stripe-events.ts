// Converts Stripe's events (https://docs.stripe.com/api/events/types) to changes of balances. Pure.
import type Stripe from 'stripe';
import type { Paid, Refund } from './provider.js';

/** Payments are in whole cents. */
export const nanoUsdPerCent = 10_000_000n;

/** Returns the nano-USD of an amount in cents; undefined for anything that is not one. */
export function nanoUsdOfCents(cents: unknown): bigint | undefined {
  return typeof cents === 'number' && Number.isSafeInteger(cents) && cents > 0 ? BigInt(cents) * nanoUsdPerCent : undefined;
}

/** Returns the cents of an amount. */
export function centsOf(amountNanoUsd: bigint): number {
  return Number(amountNanoUsd / nanoUsdPerCent);
}

/** Returns a checkout session of an account as a payment: 'open' while it is unpaid, 'foreign' when it is not ours, 'unusable' when it cannot be credited. */
export function paidOf(session: Stripe.Checkout.Session, accountId: string | undefined): Paid | 'open' | 'foreign' | 'unusable' {
  if (accountId === undefined || session.mode !== 'payment') return 'foreign';
  // With slow payment methods, a session completes before the money arrives.
  if (session.payment_status !== 'paid') return 'open';
  const amountNanoUsd = nanoUsdOfCents(session.amount_total);
  if (session.currency !== 'usd' || amountNanoUsd === undefined) return 'unusable';
  return { paymentId: session.id, accountId, amountNanoUsd };
}

/** Returns the refunds of a charge, oldest first. */
export function refundsOf(refunds: readonly Stripe.Refund[]): Refund[] {
  return refunds
    .toSorted((one, other) => one.created - other.created)
    .map((refund) => ({ refundId: refund.id, amountNanoUsd: BigInt(refund.amount) * nanoUsdPerCent, hasFailed: hasFailed(refund) }));
}

/** Reports whether the payer does not receive a refund (https://docs.stripe.com/api/refunds/object). */
export function hasFailed({ status }: Stripe.Refund): boolean {
  return status === 'failed' || status === 'canceled';
}
