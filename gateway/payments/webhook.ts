// POST /payments/{provider}/webhook: what the payment provider tells.
import type { Context, Middleware } from 'koa';
import { callContext } from '#kit/rpc/call-context.js';
import { readBytes } from '../http/middleware/json-body.js';
import { book, type BookingDeps } from './booking.js';
import type { PaymentProvider } from './provider.js';

/** Events are a few KiB. */
const eventBytesMax = 1024 * 1024;

/** The signature is over the bytes as they came, so nothing is parsed before it holds. Any fault is answered as one, and the provider tells it again. */
export function paymentWebhook(provider: PaymentProvider, deps: BookingDeps & { readonly rpcTimeoutMs: number }): Middleware {
  return async (ctx: Context) => {
    const event = await provider.readWebhook({ body: await readBytes(ctx, eventBytesMax), header: (name) => ctx.get(name) });
    await book(provider.name, event, callContext({ caller: 'gateway', timeoutMs: deps.rpcTimeoutMs }), deps);
    ctx.set('cache-control', 'no-store');
    ctx.body = { received: true };
  };
}
