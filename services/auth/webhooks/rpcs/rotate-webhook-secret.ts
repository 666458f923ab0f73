// RotateWebhookSecret: gives an endpoint a new signing secret.
import type { CallContext } from '#client/call-context.js';
import { fieldFault } from '#client/errors/fault.js';
import type { RotateWebhookSecretRequest, RotateWebhookSecretResponse } from '#proto/auth/v1/webhooks.js';
import { newSigningSecret } from '../../notifications/signature.js';
import { accountIdBytes, endpointIdBytes } from '../../requests/fields.js';
import type { WebhookDeps } from '../deps.js';

const overlapSecondsMax = 7 * 86_400;

/** Raises invalid_request and not_found. */
export async function rotateWebhookSecret(
  { accountId, endpointId, overlapSeconds }: RotateWebhookSecretRequest,
  context: CallContext,
  { db, endpoints, audit, clock }: WebhookDeps,
): Promise<RotateWebhookSecretResponse> {
  accountIdBytes(accountId);
  const id = endpointIdBytes(endpointId);
  if (overlapSeconds > overlapSecondsMax) throw fieldFault('overlap_seconds', 'at_most', { max: overlapSecondsMax });
  const secret = newSigningSecret();
  const nowMs = clock.nowMs();
  const endpoint = await db.transaction(async (tx) => {
    const rotated = {
      ...(await endpoints.locked(tx, accountId, id)),
      previousSecretExpiresAtMs: overlapSeconds === 0 ? 0n : BigInt(nowMs + overlapSeconds * 1000),
      updatedAtMs: BigInt(nowMs),
    };
    await endpoints.rotate(tx, rotated, secret);
    const detail = { overlap_seconds: overlapSeconds };
    await audit.append(tx, context, { action: 'webhook.rotate', accountId, targetId: endpointId, detail });
    return rotated;
  });
  return { endpoint, secret };
}
