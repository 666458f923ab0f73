// POST /payments/stripe/webhook: forwards what the payment provider sent. The service behind checks the provider's signature.
import type { Context, Middleware } from 'koa';
import { callContext } from '#client/call-context.js';
import type { PaymentService } from '#proto/ledger/v1/payments.js';
import { readBytes } from '../http/middleware/json-body.js';

/** Events are a few KiB. */
const eventBytesMax = 1024 * 1024;
// A refund makes the service ask the provider.
const timeoutMs = 10_000;

/** The signature is over the bytes as they came, so nothing is parsed here. The provider sends an event again after any error. */
export function stripeWebhook(payments: Pick<PaymentService, 'recordPaymentEvent'>): Middleware {
  return async (ctx: Context) => {
    const request = { provider: 'stripe', body: await readBytes(ctx, eventBytesMax), signature: ctx.get('stripe-signature') };
    await payments.recordPaymentEvent(request, callContext({ caller: 'gateway', timeoutMs }));
    ctx.set('cache-control', 'no-store');
    ctx.body = { received: true };
  };
}
