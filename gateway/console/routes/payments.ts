// Adding money by a payment provider.
import { createHash, randomUUID } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { formatUsd, parseUsd } from '#rules/money.js';
import type { GetPaymentOptionsResponse } from '#proto/ledger/v1/payments.js';
import { noteAudit } from '../audit.js';
import { contextOf, patient } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { publicAddress } from '../public-address.js';
import { renderEntry } from '../render/money.js';
import { orNull } from '../render/values.js';
import { accountOf } from '../session.js';
import { alertBodies } from './alert-bodies.js';

/** GET payments: whether and how much can be paid. */
export function getPayments(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    accountOf(ctx, 'look');
    const { provider, minNanoUsd, maxNanoUsd } = await deps.peers.payments.getPaymentOptions({}, contextOf(deps));
    ctx.body = { provider: orNull(provider), currency: 'usd', min_usd: formatUsd(minNanoUsd), max_usd: formatUsd(maxNanoUsd) };
  };
}

/** POST payments: begins one and answers with the provider's page, to which the browser goes. */
export function beginPayment(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change money');
    const options = await deps.peers.payments.getPaymentOptions({}, contextOf(deps));
    assertProvider(options);
    const { amount_usd: amountUsd } = await alertBodies.beginPayment(ctx);
    const amountNanoUsd = checkedAmount(amountUsd, options);
    const billing = `${publicAddress(ctx, deps.config)}/console/accounts/${accountId}/billing`;
    const { paymentId, url, provider } = await deps.peers.payments.beginPayment(
      {
        accountId,
        amountNanoUsd,
        idempotencyKey: referenceOf(ctx.get('idempotency-key'), accountId, amountNanoUsd),
        doneUrl: `${billing}?payment={payment}`,
        cancelledUrl: `${billing}?payment=cancelled`,
      },
      patient(),
    );
    const detail = { provider, amount_usd: formatUsd(amountNanoUsd) };
    await noteAudit(ctx, deps, { accountId, action: 'payment.begin', targetId: paymentId, detail });
    ctx.status = 201;
    ctx.body = { id: paymentId, url, ...detail };
  };
}

/** GET payments/{id}: whether it has been credited. */
export function getPayment(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const paymentId = String(ctx['params'].payment);
    const { entry } = await deps.peers.payments.getPayment({ accountId, paymentId }, patient());
    ctx.body = {
      id: paymentId,
      state: entry === undefined ? 'waiting' : 'paid',
      amount_usd: entry === undefined ? null : formatUsd(entry.amountNanoUsd),
      entry: entry === undefined ? null : renderEntry(entry),
    };
  };
}

function assertProvider({ provider }: GetPaymentOptionsResponse): void {
  if (provider === '') throw new AppError('failed_precondition', 'No payment provider is set up here; ask the operator to add money.');
}

/** A repeat of the same wish leads to the same page; another amount under the same key is another wish. */
function referenceOf(key: string, accountId: string, amountNanoUsd: bigint): string {
  if (key === '') return randomUUID();
  return createHash('sha256')
    .update(JSON.stringify([accountId, key, String(amountNanoUsd)]))
    .digest('hex')
    .slice(0, 32);
}

// The service would refuse these too, but by the name of a field that no client of the console has sent.
function checkedAmount(text: string, { minNanoUsd: min, maxNanoUsd: max }: GetPaymentOptionsResponse): bigint {
  const nanoUsd = parseUsd(text);
  const refuse = (rule: string): AppError => new AppError('invalid_request', `amount_usd: ${rule}`, { details: { field: 'amount_usd' } });
  if (nanoUsd === undefined || nanoUsd % 10_000_000n !== 0n) throw refuse('must be in whole cents');
  if (nanoUsd < min || nanoUsd > max) throw refuse(`must be from ${formatUsd(min)} to ${formatUsd(max)} USD`);
  return nanoUsd;
}
