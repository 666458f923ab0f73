// The interface of payment providers: a provider lets users pay on its own page, and reports payments in signed requests.

/** Holds a payment that a user wants to make. */
export interface Checkout {
  readonly accountId: string;
  /** Whole cents. */
  readonly amountNanoUsd: bigint;
  /** Identifies this payment attempt, so that a repeat starts no second one. */
  readonly reference: string;
  /** Where the user returns after paying; the provider writes the payment's id in place of {payment}. */
  readonly doneUrl: string;
  readonly cancelledUrl: string;
}

/** Holds a payment that was made. */
export interface Paid {
  /** The provider's own id of the payment. */
  readonly paymentId: string;
  readonly accountId: string;
  readonly amountNanoUsd: bigint;
}

/** An event that a provider reports. */
export type PaymentEvent =
  | ({ readonly kind: 'paid' } & Paid)
  /**
   * Money was refunded to the payer. `refundId` includes how much has been refunded so far, so that each part is booked once. It occurs again if a refund
   * fails and is made again; then the event is another one, and was created later.
   */
  | {
      readonly kind: 'refunded';
      readonly refundId: string;
      readonly eventId: string;
      readonly createdAtMs: number;
      readonly amountNanoUsd: bigint;
      readonly payment: Paid;
      /** Whether the payment is certainly ours. If not, only its deposit shows that it is. */
      readonly isStamped: boolean;
    }
  /** Something that an operator must review, such as a dispute. */
  | { readonly kind: 'review'; readonly what: string; readonly details: Readonly<Record<string, string>> }
  /** An event that does not concern us. */
  | { readonly kind: 'ignored' };

/** A payment provider. */
export interface PaymentProvider {
  /** Used in addresses and idempotency keys: lower-case letters. */
  readonly name: string;
  /** Starts a payment; returns where to send the user. Raises upstream_unavailable. */
  beginCheckout(checkout: Checkout): Promise<{ readonly id: string; readonly url: string }>;
  /** Reads an event. Raises invalid_request unless the provider signed it recently, and upstream_unavailable. */
  readEvent(body: Buffer, signature: string): Promise<PaymentEvent>;
  /** Returns a payment by its id, in its current state at the provider; undefined while it is unpaid, or if it is not ours. Raises upstream_unavailable. */
  findPaid(paymentId: string): Promise<Paid | undefined>;
}
