// What Stripe's events mean for balances (https://docs.stripe.com/api/events/types). Pure.
import type Stripe from 'stripe';
import type { Paid } from './provider.js';
import { accountOfStamp } from './stamp.js';

/** Payments are in whole cents. */
export const nanoUsdPerCent = 10_000_000n;

/** Nano-USD of an amount in cents; undefined for anything that is not one. */
export function nanoUsdOfCents(cents: unknown): bigint | undefined {
  return typeof cents === 'number' && Number.isSafeInteger(cents) && cents > 0 ? BigInt(cents) * nanoUsdPerCent : undefined;
}

/** Cents of an amount. */
export function centsOf(amountNanoUsd: bigint): number {
  return Number(amountNanoUsd / nanoUsdPerCent);
}

/** A checkout session as a payment: 'open' while it is not paid, 'foreign' when it is none of ours, 'unusable' when it cannot be credited. */
export function paidOf(session: Stripe.Checkout.Session, secrets: readonly string[]): Paid | 'open' | 'foreign' | 'unusable' {
  const accountId = accountOfStamp(session.metadata, secrets);
  if (accountId === undefined || session.mode !== 'payment') return 'foreign';
  // A session is complete before the money of a slow way of paying has come.
  if (session.payment_status !== 'paid') return 'open';
  const amountNanoUsd = nanoUsdOfCents(session.amount_total);
  if (session.currency !== 'usd' || amountNanoUsd === undefined) return 'unusable';
  return { paymentId: session.id, accountId, amountNanoUsd };
}

/**
 * How much a refund event added to what was given back before, and how much that makes in all; undefined when it says nothing new,
 * 'unusable' when it does not say what was before, so that parts would be taken twice, or is not in USD.
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
