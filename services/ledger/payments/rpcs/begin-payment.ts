// BeginPayment: returns the provider's page on which the user pays.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { BeginPaymentRequest, BeginPaymentResponse } from '#proto/ledger/v1/payments.js';
import { formatUsd } from '#rules/money.js';
import { checkedId } from '../../requests/fields.js';
import { Allowance } from '../allowance.js';
import { type PaymentDeps, providerOf } from '../deps.js';
import { nanoUsdPerCent } from '../stripe-events.js';

const beginningsPerMinute = 30;

/** Raises invalid_request, failed_precondition, overloaded and upstream_unavailable. */
export function beginPayment(deps: PaymentDeps): (request: BeginPaymentRequest, context?: CallContext) => Promise<BeginPaymentResponse> {
  const allowance = new Allowance(beginningsPerMinute, 60_000);
  return async (request) => {
    const provider = providerOf(deps);
    const { amountNanoUsd, doneUrl, cancelledUrl, idempotencyKey: reference } = request;
    const accountId = checkedId('account_id', 'acct', request.accountId);
    assertAmount(amountNanoUsd, deps);
    if (reference === '' || reference.length > 200) throw invalid('idempotency_key', 'must have 1 to 200 characters');
    for (const [field, url] of Object.entries({ done_url: doneUrl, cancelled_url: cancelledUrl }))
      if (!/^https?:/.test(url) || !URL.canParse(url)) throw invalid(field, 'must be an http or https address');
    const retryAfterMs = allowance.take(accountId, deps.clock.nowMs());
    if (retryAfterMs > 0) {
      throw new AppError('overloaded', `At most ${beginningsPerMinute} payments can be started for an account within a minute.`, {
        retryAfterMs,
      });
    }
    const { id, url } = await provider.beginCheckout({ accountId, amountNanoUsd, reference, doneUrl, cancelledUrl });
    return { paymentId: id, url, provider: provider.name };
  };
}

function assertAmount(nanoUsd: bigint, { limits: { paymentMinNanoUsd: min, paymentMaxNanoUsd: max } }: PaymentDeps): void {
  if (nanoUsd % nanoUsdPerCent !== 0n) throw invalid('amount_nano_usd', 'must be in whole cents');
  if (nanoUsd < min || nanoUsd > max) throw invalid('amount_nano_usd', `must be from ${formatUsd(min)} to ${formatUsd(max)} USD`);
}

function invalid(field: string, must: string): AppError {
  return new AppError('invalid_request', `${field}: ${must}`, { details: { field } });
}
