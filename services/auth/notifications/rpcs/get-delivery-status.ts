// GetDeliveryStatus: what can be delivered here, and how many notifications wait.
import type { CallContext } from '#client/call-context.js';
import type { GetDeliveryStatusRequest, GetDeliveryStatusResponse } from '#proto/auth/v1/notifications.js';
import type { NotificationDeps } from '../deps.js';

export async function getDeliveryStatus(
  _request: GetDeliveryStatusRequest,
  _context: CallContext,
  { notifications, mailer, config }: NotificationDeps,
): Promise<GetDeliveryStatusResponse> {
  const { pending, oldestAtMs } = await notifications.waiting();
  const { outcome, isOneRecipient } = await notifications.mailError();
  return {
    mailConfigured: mailer !== undefined,
    privateWebhooks: config.privateWebhooks,
    pending: BigInt(pending),
    oldestPendingAtMs: BigInt(oldestAtMs),
    pausedAtMs: BigInt(await notifications.pausedAtMs()),
    mailError: outcome,
    mailErrorOfOneRecipient: isOneRecipient,
  };
}
