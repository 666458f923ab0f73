// The output of refused calls and their counts.
import { type GetRefusalTotalsResponse_Group, type Refusal, RefusalGroupBy } from '#proto/metering/v1/metering.js';
import { instant, instantJson, usd, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

/** The words for what refusals are grouped by. */
export const refusalGroups = wordsOf<RefusalGroupBy>(RefusalGroupBy, 'REFUSAL_GROUP_BY_');

/** Returns the figures of that moment: "needed $1.5, available $0.25, field max_tokens". */
function figuresText({ details }: Refusal): string {
  return Object.entries(details)
    .filter(([name]) => name !== 'rule')
    .map(([name, value]) =>
      name.endsWith('_nano_usd') && /^-?\d{1,19}$/.test(value)
        ? `${name.slice(0, -'_nano_usd'.length)} ${usd(BigInt(value))}`
        : `${name} ${value}`,
    )
    .join(', ');
}

/** One refused call. */
export const refusalView: View<Refusal> = {
  json: (refusal) => ({
    request_id: refusal.requestId,
    account_id: refusal.accountId,
    project_id: refusal.projectId,
    key_id: refusal.keyId,
    model_id: refusal.modelId || null,
    requested_model: refusal.requestedModel || null,
    endpoint: refusal.endpoint,
    refused_at: instantJson(refusal.refusedAtMs),
    reason: refusal.reason,
    http_status: refusal.httpStatus,
    message: refusal.message || null,
    details: refusal.details,
    retry_after_ms: refusal.retryAfterMs ?? null,
    trace_id: refusal.traceId || null,
    client_request_id: refusal.clientRequestId || null,
  }),
  columns: [
    { title: 'refused', text: (refusal) => instant(refusal.refusedAtMs) },
    { title: 'request', text: (refusal) => refusal.requestId },
    { title: 'key', text: (refusal) => refusal.keyId },
    { title: 'model', text: (refusal) => refusal.modelId || refusal.requestedModel },
    { title: 'status', text: (refusal) => refusal.httpStatus.toString(), align: 'right' },
    { title: 'reason', text: (refusal) => refusal.reason },
    { title: 'figures', text: figuresText },
  ],
  details: [
    { title: 'request', text: (refusal) => refusal.requestId },
    { title: 'refused', text: (refusal) => instant(refusal.refusedAtMs) },
    { title: 'account', text: (refusal) => refusal.accountId },
    { title: 'project', text: (refusal) => refusal.projectId },
    { title: 'key', text: (refusal) => refusal.keyId },
    { title: 'endpoint', text: (refusal) => refusal.endpoint },
    { title: 'model', text: (refusal) => refusal.modelId },
    { title: 'requested model', text: (refusal) => (refusal.requestedModel === refusal.modelId ? '' : refusal.requestedModel) },
    { title: 'status', text: (refusal) => refusal.httpStatus.toString() },
    { title: 'reason', text: (refusal) => refusal.reason },
    { title: 'message', text: (refusal) => refusal.message },
    { title: 'figures', text: figuresText },
    { title: 'retry after', text: ({ retryAfterMs }) => (retryAfterMs === undefined ? '' : `${retryAfterMs} ms`) },
    { title: 'trace', text: (refusal) => refusal.traceId },
    { title: 'client request', text: (refusal) => refusal.clientRequestId },
  ],
};

/** Returns the view of counts of refused calls by groups, and by groups within each of them. */
export function refusalTotalView(by: RefusalGroupBy, thenBy: RefusalGroupBy): View<GetRefusalTotalsResponse_Group> {
  const nested = { title: refusalGroups.of(thenBy), text: ({ thenName }: GetRefusalTotalsResponse_Group) => thenName || '-' };
  return {
    json: ({ name, thenName, calls }) => ({ name, then_name: thenName || null, calls: Number(calls) }),
    columns: [
      { title: refusalGroups.of(by), text: ({ name }) => name || '-' },
      ...(thenBy === RefusalGroupBy.REFUSAL_GROUP_BY_UNSPECIFIED ? [] : [nested]),
      { title: 'calls', text: ({ calls }) => calls.toString(), align: 'right' },
    ],
  };
}
