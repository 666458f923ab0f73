// StorePromptLogs: stores prompts and answers of calls, encrypted.
import type { CallContext } from '#client/call-context.js';
import type { StorePromptLogsRequest, StorePromptLogsResponse } from '#proto/metering/v1/metering.js';
import { defaultProjectId } from '#rules/default-project.js';
import type { RpcDeps } from '../deps.js';
import { promptLogDaysMax, requireId, requireThat } from '../requests/validate-call.js';

const entriesMax = 100;
const bodyBytesMax = 512 * 1024;

/** Raises invalid_request. */
export async function storePromptLogs(
  { entries }: StorePromptLogsRequest,
  _context: CallContext,
  { promptLogs }: RpcDeps,
): Promise<StorePromptLogsResponse> {
  requireThat(entries.length > 0 && entries.length <= entriesMax, 'entries', `must have 1 to ${entriesMax} entries`);
  const checked = entries.map((entry, index) => {
    const field = `entries[${index}]`;
    const { callId, accountId, days, startedAtMs, log } = entry;
    requireId('req', callId, `${field}.call_id`);
    requireId('acct', accountId, `${field}.account_id`);
    const projectId = entry.projectId || defaultProjectId(accountId);
    requireId('proj', projectId, `${field}.project_id`);
    requireThat(days >= 1 && days <= promptLogDaysMax, `${field}.days`, `must be from 1 to ${promptLogDaysMax}`);
    requireThat(startedAtMs > 0n && startedAtMs < 2n ** 52n, `${field}.started_at_ms`, 'must be a timestamp in epoch milliseconds');
    for (const [name, body] of Object.entries({ request_body: log?.requestBody, answer_body: log?.answerBody }))
      requireThat(Buffer.byteLength(body ?? '') <= bodyBytesMax, `${field}.log.${name}`, `must have at most ${bodyBytesMax} bytes`);
    return { ...entry, projectId };
  });
  await promptLogs?.store(checked);
  return {};
}
