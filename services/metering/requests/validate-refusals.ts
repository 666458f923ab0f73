// Validation of refused calls and of filters over them. Pure.
import { type RecordRefusalsRequest, type RecordRefusalsRequest_Series, type Refusal, RefusalFilter } from '#proto/metering/v1/metering.js';
import { quarterMs } from '#rules/errors/refusals.js';
import { requireProjects } from './validate-filter.js';
import { clientRequestIdCharsMax, isInstant, requireId, requireThat, requireUint32 } from './validate-call.js';

const seriesMax = 1000;
const examplesMax = 500;
const batchIdBytes = 16;
const modelCharsMax = 200;
const messageCharsMax = 1000;
const traceIdForm = /^(?:[0-9a-f]{32})?$/;
const detailsMax = 24;
const detailNameForm = /^\w{1,64}$/;
const detailCharsMax = 500;
const reasonForm = /^[a-z_]{1,64}$/;
const endpointForm = /^[a-z-]{1,40}$/;
// One second of a very large gateway.
const callsMax = 1_000_000_000n;

/** Returns the series as they may be stored, with the text of their examples cut to its maximum. Raises invalid_request. */
export function validateRefusals({ batchId, series }: RecordRefusalsRequest): RecordRefusalsRequest_Series[] {
  requireThat(batchId.length === batchIdBytes, 'batch_id', `must be ${batchIdBytes} bytes`);
  requireThat(series.length > 0 && series.length <= seriesMax, 'series', `must have 1 to ${seriesMax} entries`);
  return series.map((each, index) => {
    const field = `series.${index}`;
    requireId('acct', each.accountId, `${field}.account_id`);
    requireId('proj', each.projectId, `${field}.project_id`);
    requireId('key', each.keyId, `${field}.key_id`);
    requireThat(each.modelId.length <= modelCharsMax, `${field}.model_id`, `must have at most ${modelCharsMax} characters`);
    requireReason(each.reason, `${field}.reason`);
    requireThat(
      isInstant(each.quarterMs) && each.quarterMs % BigInt(quarterMs) === 0n,
      `${field}.quarter_ms`,
      'must be the start of a quarter of an hour',
    );
    requireThat(each.calls > 0n && each.calls <= callsMax, `${field}.calls`, `must be from 1 to ${callsMax}`);
    requireThat(each.examples.length <= examplesMax, `${field}.examples`, `must have at most ${examplesMax} entries`);
    return { ...each, examples: each.examples.map((example) => exampleToStore(example, `${field}.examples`)) };
  });
}

function exampleToStore(example: Refusal, field: string): Refusal {
  requireId('req', example.requestId, `${field}.request_id`);
  requireThat(isInstant(example.refusedAtMs), `${field}.refused_at_ms`, 'must be a timestamp in epoch milliseconds');
  requireThat(endpointForm.test(example.endpoint), `${field}.endpoint`, 'must be a word');
  requireUint32(example.httpStatus, `${field}.http_status`);
  const details = Object.entries(example.details).filter(([name]) => detailNameForm.test(name));
  return {
    ...example,
    requestedModel: example.requestedModel.slice(0, modelCharsMax),
    message: example.message.slice(0, messageCharsMax),
    details: Object.fromEntries(details.slice(0, detailsMax).map(([name, value]) => [name, value.slice(0, detailCharsMax)])),
    traceId: traceIdForm.test(example.traceId) ? example.traceId : '',
    clientRequestId: example.clientRequestId.slice(0, clientRequestIdCharsMax),
  };
}

/** Returns the filter if all its present parts are well-formed; an absent one matches everything. Raises invalid_request. */
export function validateRefusalFilter(filter: RefusalFilter = RefusalFilter.fromPartial({})): RefusalFilter {
  if (filter.accountId !== '') requireId('acct', filter.accountId, 'filter.account_id');
  requireProjects(filter.projectIds);
  if (filter.keyId !== '') requireId('key', filter.keyId, 'filter.key_id');
  requireThat(filter.modelId.length <= modelCharsMax, 'filter.model_id', `must have at most ${modelCharsMax} characters`);
  if (filter.reason !== '') requireReason(filter.reason, 'filter.reason');
  requireThat(isInstant(filter.fromMs), 'filter.from_ms', 'must be zero or more');
  requireThat(isInstant(filter.untilMs), 'filter.until_ms', 'must be zero or more');
  return filter;
}

function requireReason(reason: string, field: string): void {
  // Not one of today's list: a gateway of the next version may already refuse for others.
  requireThat(reasonForm.test(reason), field, 'must be an error reason such as balance_empty');
}
