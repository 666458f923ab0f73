// Validation of a filter over usage records.
import { Outcome, UsageFilter } from '#proto/metering/v1/metering.js';
import { isKnownOutcome } from '#rules/money/outcomes.js';
import { requireId, requireThat } from './validate-call.js';

const modelIdCharsMax = 200;
/** As many as a member may have roles in. */
const projectsMax = 50;
const keysMax = 1000;

/** Raises invalid_request for malformed ids and too many. */
export function requireProjects(projectIds: readonly string[]): void {
  requireThat(projectIds.length <= projectsMax, 'filter.project_ids', `must have at most ${projectsMax} entries`);
  for (const projectId of projectIds) requireId('proj', projectId, 'filter.project_ids');
}

/** Returns the filter if all its present parts are well-formed; an absent one matches everything. Raises invalid_request. */
export function validateFilter(filter: UsageFilter | undefined): UsageFilter {
  if (filter === undefined) return UsageFilter.fromPartial({});
  if (filter.accountId !== '') requireId('acct', filter.accountId, 'filter.account_id');
  requireProjects(filter.projectIds);
  if (filter.keyId !== '') requireId('key', filter.keyId, 'filter.key_id');
  requireThat(filter.keyIds.length <= keysMax, 'filter.key_ids', `must have at most ${keysMax} entries`);
  for (const keyId of filter.keyIds) requireId('key', keyId, 'filter.key_ids');
  requireThat(filter.modelId.length <= modelIdCharsMax, 'filter.model_id', `must have at most ${modelIdCharsMax} characters`);
  requireThat(filter.fromMs >= 0n, 'filter.from_ms', 'must be zero or more');
  requireThat(filter.untilMs >= 0n, 'filter.until_ms', 'must be zero or more');
  requireThat(
    filter.outcome === Outcome.OUTCOME_UNSPECIFIED || isKnownOutcome(filter.outcome),
    'filter.outcome',
    'must be a known outcome',
  );
  return filter;
}
