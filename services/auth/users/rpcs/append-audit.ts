// AppendAudit: notes what somebody did.
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { AuditEvent, type AppendAuditRequest, type AppendAuditResponse } from '#proto/auth/v1/users.js';
import { invalidField } from '../../requests/fields.js';
import type { PeopleDeps } from '../deps.js';

const detailCharsMax = 10_000;

/** Raises invalid_request. */
export async function appendAudit(
  request: AppendAuditRequest,
  context: CallContext,
  { audit, clock }: PeopleDeps,
): Promise<AppendAuditResponse> {
  const given = request.event;
  if (given === undefined || !/^[a-z_.]{1,64}$/.test(given.action))
    throw invalidField('entry.action', 'entry.action must be a word such as key.create.');
  if (given.detailJson.length > detailCharsMax)
    throw invalidField('entry.detail_json', `entry.detail_json must have at most ${detailCharsMax} characters.`);
  const nowMs = clock.nowMs();
  const { accountId, action, actorUserId } = given;
  const entry = {
    accountId,
    action,
    actorUserId,
    id: newId('aud', nowMs),
    atMs: BigInt(nowMs),
    actorName: kept(given.actorName, 200),
    clientAddress: kept(given.clientAddress, 64),
    targetId: kept(given.targetId, 200),
    detailJson: given.detailJson === '' ? '{}' : kept(given.detailJson, detailCharsMax),
    caller: context.caller,
  };
  await audit.receive([entry]);
  return { event: AuditEvent.fromPartial(entry) };
}

/** What is cut in the middle of a character would come back from a database as another text, and so with another hash. */
function kept(text: string, charsMax: number): string {
  return Buffer.from(text.slice(0, charsMax)).toString();
}
