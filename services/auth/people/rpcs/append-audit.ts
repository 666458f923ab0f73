// AppendAudit: notes what somebody did.
import { newId } from '#kit/id.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import type { AppendAuditRequest, AppendAuditResponse } from '#proto/auth/v1/people.js';
import { invalidField } from '../../requests/fields.js';
import type { PeopleDeps } from '../deps.js';

const detailCharsMax = 10_000;

/** Raises invalid_request. */
export async function appendAudit(request: AppendAuditRequest, _context: CallContext, { audit, clock }: PeopleDeps): Promise<AppendAuditResponse> {
  const given = request.entry;
  if (given === undefined || !/^[a-z_.]{1,64}$/.test(given.action)) throw invalidField('entry.action', 'entry.action must be a word such as key.create.');
  if (given.detailJson.length > detailCharsMax) throw invalidField('entry.detail_json', `entry.detail_json must have at most ${detailCharsMax} characters.`);
  const nowMs = clock.nowMs();
  const entry = {
    ...given,
    id: newId('aud', nowMs),
    atMs: BigInt(nowMs),
    actorName: given.actorName.slice(0, 200),
    clientAddress: given.clientAddress.slice(0, 64),
    targetId: given.targetId.slice(0, 200),
    detailJson: given.detailJson === '' ? '{}' : given.detailJson,
  };
  await audit.append(entry);
  return { entry };
}
