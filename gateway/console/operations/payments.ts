// Adding funds through a payment provider.
import { createHash, randomUUID } from 'node:crypto';
import { fault, fieldFault } from '#client/errors/fault.js';
import type { GetPaymentOptionsResponse } from '#proto/ledger/v1/payments.js';
import { formatUsd, limitNanoUsdMax } from '#rules/money/money.js';
import { publicAddress } from '../../http/public-address.js';
import { renderEntry } from '../render/billing.js';
import { nanoUsdOf, orNull } from '../render/values.js';
import { BeginPayment, Payment, PaymentBegun, PaymentOptions } from '../schemas/payments.js';
import { assertActive } from '../session/access.js';
import { type Area, created, ok, operation } from '../table/operation.js';

export const payments: Area = {
  title: 'Payments',
  description: 'Adding funds through a payment provider, if one is configured.',
  operations: [
    operation('GET', '/accounts/{account}/payments', {
      summary: 'Show whether payments are available, and their limits.',
      who: 'look',
      answers: [ok(PaymentOptions)],
      handle: async ({ context }, { peers }) => {
        const { provider, minNanoUsd, maxNanoUsd } = await peers.payments.getPaymentOptions({}, context());
        return { provider: orNull(provider), currency: 'usd' as const, min_usd: formatUsd(minNanoUsd), max_usd: formatUsd(maxNanoUsd) };
      },
    }),
    operation('POST', '/accounts/{account}/payments', {
      summary: 'Start a payment.',
      who: 'change money',
      idempotency: 'A repeat with the same amount leads to the same page of the provider.',
      body: BeginPayment,
      answers: [created(PaymentBegun)],
      errors: { failed_precondition: 'No payment provider is configured.', account_suspended: 'The account is suspended.' },
      handle: async ({ ctx, accountId, body, idempotencyKey, context }, deps) => {
        const options = await deps.peers.payments.getPaymentOptions({}, context());
        if (options.provider === '') throw fault('no_payments', {});
        assertActive((await deps.peers.auth.getAccount({ accountId }, context())).account!);
        const amountNanoUsd = checkedAmount(body.amount_usd, options);
        const billingPage = `${publicAddress(ctx, deps.config)}/console/accounts/${accountId}/billing`;
        const { paymentId, url, provider } = await deps.peers.payments.beginPayment(
          {
            accountId,
            amountNanoUsd,
            idempotencyKey: referenceOf(idempotencyKey, amountNanoUsd),
            doneUrl: `${billingPage}?payment={payment}`,
            cancelledUrl: `${billingPage}?payment=cancelled`,
          },
          context('patient'),
        );
        const detail = { provider, amount_usd: formatUsd(amountNanoUsd) };
        return { id: paymentId, url, ...detail };
      },
    }),
    operation('GET', '/accounts/{account}/payments/{payment}', {
      summary: 'Show whether a payment has been credited.',
      who: 'look',
      answers: [ok(Payment)],
      errors: { failed_precondition: 'No payment provider is configured.' },
      handle: async ({ accountId, params: { payment: paymentId }, context }, { peers }) => {
        const { entry } = await peers.payments.getPayment({ accountId, paymentId }, context('patient'));
        return entry === undefined
          ? { id: paymentId, state: 'waiting' as const, amount_usd: null, entry: null }
          : { id: paymentId, state: 'paid' as const, amount_usd: formatUsd(entry.amountNanoUsd), entry: renderEntry(entry) };
      },
    }),
  ],
};

/** Returns the reference of a payment: a repeat leads to the same page of the provider, and another amount with the same header is another payment. */
function referenceOf(idempotencyKey: string, amountNanoUsd: bigint): string {
  if (idempotencyKey === '') return randomUUID();
  const text = JSON.stringify([idempotencyKey, String(amountNanoUsd)]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

// The service rejects these too, but with the name of its own field.
function checkedAmount(text: string, { minNanoUsd: min, maxNanoUsd: max }: GetPaymentOptionsResponse): bigint {
  const nanoUsd = nanoUsdOf('amount_usd', text, limitNanoUsdMax);
  if (nanoUsd % 10_000_000n !== 0n) throw fieldFault('amount_usd', 'whole_cents');
  if (nanoUsd < min || nanoUsd > max) throw fieldFault('amount_usd', 'amount_range', { min_nano_usd: min, max_nano_usd: max });
  return nanoUsd;
}
