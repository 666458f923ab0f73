// RecordPaymentEvent: books what the provider reports, authenticated by its signature alone.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { RecordPaymentEventRequest, RecordPaymentEventResponse } from '#proto/ledger/v1/payments.js';
import { book } from '../booking.js';
import type { PaymentDeps } from '../deps.js';

/** Events are a few KiB. */
const eventBytesMax = 1024 * 1024;

/** Raises invalid_request, not_found, upstream_unavailable and what the ledger raises: the provider then sends the event again. */
export async function recordPaymentEvent(
  { provider: name, body, signature }: RecordPaymentEventRequest,
  context: CallContext,
  deps: PaymentDeps,
): Promise<RecordPaymentEventResponse> {
  const { provider } = deps;
  if (provider === undefined || provider.name !== name)
    throw new AppError('not_found', 'This payment provider is not configured.', { details: { what: 'provider' } });
  if (body.length > eventBytesMax)
    throw new AppError('body_too_large', `An event has at most ${eventBytesMax} bytes.`, {
      details: { limit_bytes: String(eventBytesMax) },
    });
  await book(provider.name, await provider.readEvent(Buffer.from(body), signature), context, deps);
  return {};
}
