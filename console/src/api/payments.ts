// Adding money by a payment provider. Amounts are decimal-string USD.
import { api } from './client.js';
import type { Line } from './billing.js';

/** Whether and how much can be paid. */
export interface PaymentOptions {
  /** Null: nobody can pay here. */
  readonly provider: string | null;
  readonly min_usd: string;
  readonly max_usd: string;
}

/** A payment that was begun. */
export interface BegunPayment {
  readonly id: string;
  /** The provider's page, where it is paid. */
  readonly url: string;
}

/** A payment and what became of it. */
export interface Payment {
  readonly state: 'waiting' | 'paid';
  readonly amount_usd: string | null;
  readonly entry: Line | null;
}

const of = (accountId: string): string => `/accounts/${accountId}/payments`;

export const getPaymentOptions = (accountId: string, signal?: AbortSignal): Promise<PaymentOptions> => api.get(of(accountId), { signal });
export const beginPayment = (accountId: string, amountUsd: string, idempotencyKey: string): Promise<BegunPayment> =>
  api.post(of(accountId), { body: { amount_usd: amountUsd }, idempotencyKey });
export const getPayment = (accountId: string, paymentId: string, signal?: AbortSignal): Promise<Payment> =>
  api.get(`${of(accountId)}/${encodeURIComponent(paymentId)}`, { signal });
