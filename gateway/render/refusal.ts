// Renders a refused call as JSON. Amounts are USD as decimal strings.
import type { Static } from 'typebox';
import type { Refusal } from '#proto/metering/v1/metering.js';
import type { RefusalView } from '../formats/account-schema.js';
import { figuresOf } from '../formats/errors/error-details.js';

/** Returns a refused call as its caller sees it. */
export function renderRefusal(refusal: Refusal): Static<typeof RefusalView> {
  return {
    object: 'refusal',
    request_id: refusal.requestId,
    account_id: refusal.accountId,
    project_id: refusal.projectId,
    key_id: refusal.keyId,
    model: orNull(refusal.modelId),
    requested_model: orNull(refusal.requestedModel),
    endpoint: refusal.endpoint,
    refused_at: new Date(Number(refusal.refusedAtMs)).toISOString(),
    status: refusal.httpStatus,
    reason: refusal.reason,
    message: orNull(refusal.message),
    param: refusal.details['field'] ?? refusal.details['param'] ?? null,
    figures: figuresOf(refusal.details),
    retry_after_ms: refusal.retryAfterMs ?? null,
    charge_usd: '0',
    trace_id: orNull(refusal.traceId),
    client_request_id: orNull(refusal.clientRequestId),
  };
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}
