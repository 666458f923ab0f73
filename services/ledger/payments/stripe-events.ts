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

/**
 * Returns how much a refund event added to what was refunded before, and the new total; undefined when it reports nothing new,
 * 'unusable' when it is not in USD, or does not report the previous total, so that partial refunds would be deducted twice.
 */
export function refundOf(
  charge: Stripe.Charge,
  previous: { readonly amount_refunded?: unknown } | undefined,
): { addedNanoUsd: bigint; totalCents: number } | 'unusable' | undefined {
  const before = previous?.amount_refunded;
  if (typeof before !== 'number' || charge.currency !== 'usd') return 'unusable';
  const addedNanoUsd = nanoUsdOfCents(charge.amount_refunded - before);
  return addedNanoUsd === undefined ? undefined : { addedNanoUsd, totalCents: charge.amount_refunded };
}

/** How long before or after an event one of its refunds may have been created, in seconds: Stripe creates both within seconds. */
const refundEventSeconds = 300;

/**
 * Returns the refunds that an event of this instant reports, oldest first: those that were created at about the same time and neither failed nor were
 * canceled. Undefined if none were created then. `charge.refunded` itself contains no refunds
 * (https://docs.stripe.com/changelog/acacia/2024-10-28/refund-webhook-update).
 */
export function refundsAt(eventSeconds: number, refunds: readonly Stripe.Refund[]): Refund[] | undefined {
  const near = refunds.filter(({ created }) => Math.abs(created - eventSeconds) <= refundEventSeconds);
  if (near.length === 0) return undefined;
  return near
    .filter((refund) => !hasFailed(refund))
    .toSorted((one, other) => one.created - other.created)
    .map(({ id, amount, created }) => ({ refundId: id, amountNanoUsd: BigInt(amount) * nanoUsdPerCent, createdAtMs: created * 1000 }));
}

/** Reports whether the payer does not receive a refund (https://docs.stripe.com/api/refunds/object). */
export function hasFailed({ status }: Stripe.Refund): boolean {
  return status === 'failed' || status === 'canceled';
}
