// POST /payments/stripe/webhook: forwards the payment provider's event to the ledger, which verifies its signature.
import type { Context, Middleware } from 'koa';
import { callContext } from '#client/call-context.js';
import type { PaymentService } from '#proto/ledger/v1/payments.js';
import { readBytes } from '../http/middleware/json-body.js';

/** Events are a few KiB. */
const eventBytesMax = 1024 * 1024;
// For a refund, the ledger queries the provider.
const timeoutMs = 10_000;

/** Forwards an event. The signature covers the raw bytes, so nothing is parsed here. The provider resends an event after any error. */
export function stripeWebhook(payments: Pick<PaymentService, 'recordPaymentEvent'>): Middleware {
  return async (ctx: Context) => {
    const request = { provider: 'stripe', body: await readBytes(ctx, eventBytesMax), signature: ctx.get('stripe-signature') };
    await payments.recordPaymentEvent(request, callContext({ caller: 'gateway', timeoutMs }));
    ctx.set('cache-control', 'no-store');
    ctx.body = { received: true };
  };
}
