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

/** Holds a refund of a payment. */
export interface Refund {
  /** The provider's own id of the refund. */
  readonly refundId: string;
  readonly amountNanoUsd: bigint;
  /** Whether it failed or was canceled, so that the payer does not receive it. */
  readonly hasFailed: boolean;
}

/** Why an operator must review an event, and the value of a label of a metric. */
export const reviewKinds = {
  account_suspended: 'a payment was credited to an account that is suspended',
  dispute: 'the payer disputes a payment',
  payment_not_credited: 'a payment is not in US dollars',
  refund_failed: 'a refund failed or was canceled, and may have been deducted',
  refund_not_deducted: 'a refund is not in US dollars, or of a payment that was not credited',
  refund_short: 'a refund was larger than the available balance',
} as const;
export type ReviewKind = keyof typeof reviewKinds;

/** An event that a provider reports. */
export type PaymentEvent =
  | ({ readonly kind: 'paid' } & Paid)
  /** Money was refunded to the payer. */
  | {
      readonly kind: 'refunded';
      readonly eventId: string;
      readonly payment: Paid;
      /** Whether the payment is certainly ours. If not, only its deposit shows that it is. */
      readonly isStamped: boolean;
      /** All refunds of the payment so far, oldest first. */
      readonly refunds: readonly Refund[];
    }
  /** Something that an operator must review, such as a dispute. */
  | {
      readonly kind: 'review';
      readonly review: ReviewKind;
      /** The type of the event, or what is wrong with it. */
      readonly what: string;
      /** The payment, if the provider has it. */
      readonly payment: Pick<Paid, 'paymentId' | 'accountId'> | undefined;
      readonly isStamped: boolean;
      /** The refund that failed. */
      readonly refundId?: string;
      readonly details: Readonly<Record<string, string>>;
    }
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
