// BeginPayment: returns the provider's page on which the user pays.
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { BeginPaymentRequest, BeginPaymentResponse } from '#proto/ledger/v1/payments.js';
import { checkedId } from '../../requests/fields.js';
import { Allowance } from '../allowance.js';
import { type PaymentDeps, providerOf } from '../deps.js';
import { nanoUsdPerCent } from '../stripe-events.js';

const beginningsPerMinute = 30;

/**
 * Returns the RPC. It raises invalid_request, failed_precondition (no provider), overloaded (too many payments begun by the account),
 * upstream_unavailable and upstream_failed.
 */
export function beginPayment(deps: PaymentDeps): (request: BeginPaymentRequest, context?: CallContext) => Promise<BeginPaymentResponse> {
  const allowance = new Allowance(beginningsPerMinute, 60_000);
  return async (request) => {
    const provider = providerOf(deps);
    const { amountNanoUsd, doneUrl, cancelledUrl, idempotencyKey: reference } = request;
    const accountId = checkedId('account_id', 'acct', request.accountId);
    assertAmount(amountNanoUsd, deps);
    if (reference === '' || reference.length > 200) throw fieldFault('idempotency_key', 'length', { min: 1, max: 200 });
    for (const [field, url] of Object.entries({ done_url: doneUrl, cancelled_url: cancelledUrl }))
      if (!/^https?:/.test(url) || !URL.canParse(url)) throw fieldFault(field, 'http_url');
    const retryAfterMs = allowance.take(accountId, deps.clock.monotonicMs());
    if (retryAfterMs > 0) {
      throw fault('payments_per_minute', { max: beginningsPerMinute }, { retryAfterMs });
    }
    const { id, url } = await provider.beginCheckout({ accountId, amountNanoUsd, reference, doneUrl, cancelledUrl });
    return { paymentId: id, url, provider: provider.name };
  };
}

function assertAmount(nanoUsd: bigint, { limits: { paymentMinNanoUsd: min, paymentMaxNanoUsd: max } }: PaymentDeps): void {
  if (nanoUsd % nanoUsdPerCent !== 0n) throw fieldFault('amount_nano_usd', 'whole_cents');
  if (nanoUsd < min || nanoUsd > max) throw fieldFault('amount_nano_usd', 'amount_range', { min_nano_usd: min, max_nano_usd: max });
}
