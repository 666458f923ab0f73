// BatchGetPromptLogDays: for how many days projects log prompts and answers.
import type { CallContext } from '#client/call-context.js';
import { fieldFault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';
import type { BatchGetPromptLogDaysRequest, BatchGetPromptLogDaysResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';

const idsMax = 1000;

/** Raises invalid_request. */
export async function batchGetPromptLogDays(
  { projectIds }: BatchGetPromptLogDaysRequest,
  _context: CallContext,
  { projects }: RpcDeps,
): Promise<BatchGetPromptLogDaysResponse> {
  if (projectIds.length === 0 || projectIds.length > idsMax) throw fieldFault('project_ids', 'items', { min: 1, max: idsMax });
  const ids = projectIds.map((id) => idToBytes('proj', id));
  const known = await projects.promptLogDays(ids.filter((id) => id !== undefined));
  return { days: projectIds.map((id) => known.get(id) ?? 0) };
}
