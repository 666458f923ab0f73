// Adding funds through a payment provider. Amounts are decimal-string USD.
import type { Payment, PaymentBegun, PaymentOptions } from '../../../gateway/console/schemas/payments.js';
import { api } from './client.js';

export type { Payment, PaymentOptions };

const of = (accountId: string): string => `/accounts/${accountId}/payments`;

export const getPaymentOptions = (accountId: string, signal?: AbortSignal): Promise<PaymentOptions> => api.get(of(accountId), { signal });
export const beginPayment = (accountId: string, amountUsd: string, idempotencyKey: string): Promise<PaymentBegun> =>
  api.post(of(accountId), { body: { amount_usd: amountUsd }, idempotencyKey });
export const getPayment = (accountId: string, paymentId: string, signal?: AbortSignal): Promise<Payment> =>
  api.get(`${of(accountId)}/${encodeURIComponent(paymentId)}`, { signal });
