// What every payment provider can do: take somebody to its own page to pay, and tell, by requests it signs, what was paid.

/** A payment that somebody wants to make. */
export interface Checkout {
  readonly accountId: string;
  /** Whole cents. */
  readonly amountNanoUsd: bigint;
  /** Names this wish, so that a repeat begins nothing new. */
  readonly reference: string;
  /** Where the person comes back to after paying; the provider writes the payment's id in place of {payment}. */
  readonly doneUrl: string;
  readonly cancelledUrl: string;
}

/** A payment that was made. */
export interface Paid {
  /** The provider's own id of the payment. */
  readonly paymentId: string;
  readonly accountId: string;
  readonly amountNanoUsd: bigint;
}

/** What a provider tells. */
export type PaymentEvent =
  | ({ readonly kind: 'paid' } & Paid)
  /** Money went back to the payer. `refundId` names how much of it has, so that each part is told once. */
  | { readonly kind: 'refunded'; readonly refundId: string; readonly amountNanoUsd: bigint; readonly payment: Paid }
  /** Something that a person has to look at, such as a dispute. */
  | { readonly kind: 'noticed'; readonly what: string; readonly details: Readonly<Record<string, string>> }
  /** Nothing of ours. */
  | { readonly kind: 'ignored' };

/** A way to pay. */
export interface PaymentProvider {
  /** In addresses and idempotency keys: lower-case letters. */
  readonly name: string;
  /** Begins a payment; where to send the person. Raises upstream_unavailable. */
  beginCheckout(checkout: Checkout): Promise<{ readonly id: string; readonly url: string }>;
  /** Reads an event. Raises invalid_request for one that the provider did not sign just now, and upstream_unavailable. */
  readEvent(body: Buffer, signature: string): Promise<PaymentEvent>;
  /** A payment by its id, as the provider knows it now; undefined while it is not paid, or is none of ours. Raises upstream_unavailable. */
  findPaid(paymentId: string): Promise<Paid | undefined>;
}
