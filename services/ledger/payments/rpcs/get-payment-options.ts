// GetPaymentOptions: the provider and the limits of a payment.
import type { CallContext } from '#client/call-context.js';
import type { GetPaymentOptionsRequest, GetPaymentOptionsResponse } from '#proto/ledger/v1/payments.js';
import type { PaymentDeps } from '../deps.js';

/** Raises nothing. */
export async function getPaymentOptions(
  _request: GetPaymentOptionsRequest,
  _context: CallContext,
  { provider, limits }: PaymentDeps,
): Promise<GetPaymentOptionsResponse> {
  return { provider: provider?.name ?? '', minNanoUsd: limits.paymentMinNanoUsd, maxNanoUsd: limits.paymentMaxNanoUsd };
}
