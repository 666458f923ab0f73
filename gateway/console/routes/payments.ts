// Adding money by a payment provider.
import { createHash, randomUUID } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { AppError, hasReason } from '#kit/errors/app-error.js';
import { formatUsd, parseUsd } from '#rules/money.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { Allowance } from '../../payments/allowance.js';
import { bookPaid, paymentKey } from '../../payments/booking.js';
import type { PaymentProvider } from '../../payments/provider.js';
import { noteAudit } from '../audit.js';
import { contextOf } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { publicAddress } from '../public-address.js';
import { renderEntry } from '../render/money.js';
import { accountOf } from '../session.js';
import { alertBodies } from './alert-bodies.js';

/** How often the provider itself is asked about one payment, while its event has not come. */
const askAgainMs = 5000;
const askedMax = 1000;
/** What one account may have the provider asked within a minute, by each gateway. */
const beginningsPerMinute = 30;
const looksPerMinute = 30;
const minuteMs = 60_000;
const paymentForm = /^[A-Za-z0-9_]{1,190}$/;

/** GET payments: whether and how much can be paid. */
export function getPayments({ payments, config }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    accountOf(ctx, 'look');
    ctx.body = {
      provider: payments?.name ?? null,
      currency: 'usd',
      min_usd: formatUsd(config.paymentMinNanoUsd),
      max_usd: formatUsd(config.paymentMaxNanoUsd),
    };
  };
}

/** POST payments: begins one and answers with the provider's page, to which the browser goes. */
export function beginPayment(deps: ConsoleDeps): Middleware {
  const allowance = new Allowance(beginningsPerMinute, minuteMs);
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change money');
    const provider = present(deps);
    const { amount_usd: amountUsd } = await alertBodies.beginPayment(ctx);
    const amountNanoUsd = checkedAmount(amountUsd, deps.config);
    const retryAfterMs = allowance.take(accountId, deps.clock.nowMs());
    if (retryAfterMs > 0)
      throw new AppError(
        'overloaded',
        `At most ${beginningsPerMinute} payments are begun for an account within a minute; try again in a while.`,
        { retryAfterMs },
      );
    const billing = `${publicAddress(ctx, deps.config)}/console/accounts/${accountId}/billing`;
    const key = ctx.get('idempotency-key');
    // A repeat of the same wish leads to the same page; another amount under the same key is another wish.
    const reference =
      key === ''
        ? randomUUID()
        : createHash('sha256')
            .update(JSON.stringify([accountId, key, String(amountNanoUsd)]))
            .digest('hex')
            .slice(0, 32);
    const { id, url } = await provider.beginCheckout({
      accountId,
      amountNanoUsd,
      reference,
      doneUrl: `${billing}?payment={payment}`,
      cancelledUrl: `${billing}?payment=cancelled`,
    });
    await noteAudit(ctx, deps, {
      accountId,
      action: 'payment.begin',
      targetId: id,
      detail: { provider: provider.name, amount_usd: formatUsd(amountNanoUsd) },
    });
    ctx.status = 201;
    ctx.body = { id, url, provider: provider.name, amount_usd: formatUsd(amountNanoUsd) };
  };
}

/** GET payments/{id}: whether it has been credited. While it has not, the provider is asked, since its event may be late or lost. */
export function getPayment(deps: ConsoleDeps): Middleware {
  const asked = new Map<string, number>();
  const allowance = new Allowance(looksPerMinute, minuteMs);
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const provider = present(deps);
    const paymentId = String(ctx['params'].payment);
    if (!paymentForm.test(paymentId)) throw new AppError('not_found', 'There is no such payment.', { details: { what: 'payment' } });
    const nowMs = deps.clock.nowMs();
    // Who makes ids up only uses up what is their account's; the event of a payment comes anyway.
    const mayAsk = (): boolean => isTimeToAsk(asked, paymentId, nowMs) && allowance.take(accountId, nowMs) === 0;
    const entry =
      (await findEntry(accountId, paymentKey(provider.name, paymentId), deps)) ??
      (mayAsk() ? await creditLate(provider, accountId, paymentId, deps) : undefined);
    ctx.body = {
      id: paymentId,
      state: entry === undefined ? 'waiting' : 'paid',
      amount_usd: entry === undefined ? null : formatUsd(entry.amountNanoUsd),
      entry: entry === undefined ? null : renderEntry(entry),
    };
  };
}

async function creditLate(provider: PaymentProvider, accountId: string, paymentId: string, deps: ConsoleDeps): Promise<Entry | undefined> {
  const paid = await provider.findPaid(paymentId).catch((error: unknown) => {
    // The event will tell it.
    if (error instanceof AppError) return undefined;
    throw error;
  });
  return paid === undefined || paid.accountId !== accountId
    ? undefined
    : bookPaid(provider.name, paid, contextOf(deps), { ledger: deps.peers.ledger, log: deps.log });
}

function isTimeToAsk(asked: Map<string, number>, paymentId: string, nowMs: number): boolean {
  if (nowMs - (asked.get(paymentId) ?? -askAgainMs) < askAgainMs) return false;
  if (asked.size >= askedMax) asked.delete(asked.keys().next().value!);
  asked.delete(paymentId);
  asked.set(paymentId, nowMs);
  return true;
}

async function findEntry(accountId: string, idempotencyKey: string, deps: ConsoleDeps): Promise<Entry | undefined> {
  try {
    return (await deps.peers.ledger.findEntry({ accountId, idempotencyKey }, contextOf(deps))).entry;
  } catch (error) {
    if (hasReason(error, 'not_found')) return undefined;
    throw error;
  }
}

function present({ payments }: ConsoleDeps): PaymentProvider {
  if (payments === undefined)
    throw new AppError('failed_precondition', 'No payment provider is set up here; ask the operator to add money.');
  return payments;
}

function checkedAmount(text: string, { paymentMinNanoUsd: min, paymentMaxNanoUsd: max }: ConsoleDeps['config']): bigint {
  const nanoUsd = parseUsd(text);
  const refuse = (rule: string): AppError => new AppError('invalid_request', `amount_usd: ${rule}`, { details: { field: 'amount_usd' } });
  if (nanoUsd === undefined || nanoUsd % 10_000_000n !== 0n) throw refuse('must be in whole cents');
  if (nanoUsd < min || nanoUsd > max) throw refuse(`must be from ${formatUsd(min)} to ${formatUsd(max)} USD`);
  return nanoUsd;
}
