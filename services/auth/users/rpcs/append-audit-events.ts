// AppendAuditEvents: appends the events of another service to the audit log.
import { auditCharsMax } from '#kit/audit/audit-event.js';
import { isId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { AppendAuditEventsRequest, AppendAuditEventsResponse, AuditEvent } from '#proto/auth/v1/users.js';
import { invalidField } from '../../requests/fields.js';
import type { UserDeps } from '../deps.js';

const eventsMax = 100;
const texts = Object.keys(auditCharsMax) as (keyof typeof auditCharsMax)[];

/** Raises invalid_request. */
export async function appendAuditEvents(
  { events }: AppendAuditEventsRequest,
  _context: CallContext,
  { audit }: UserDeps,
): Promise<AppendAuditEventsResponse> {
  if (events.length > eventsMax) throw invalidField('events', `events must have at most ${eventsMax} entries.`);
  events.forEach(check);
  await audit.receive(events);
  return {};
}

function check(event: AuditEvent, index: number): void {
  const refuse = (field: string, rule: string) => invalidField(`events[${index}].${field}`, `events[${index}].${field} ${rule}.`);
  if (!isId('aud', event.id)) throw refuse('id', 'must be "aud_" followed by 32 lowercase hexadecimal digits');
  if (!/^[a-z_]+\.[a-z_]+$/.test(event.action)) throw refuse('action', 'must be two words such as key.create');
  if (event.atMs < 0n) throw refuse('at_ms', 'must be epoch milliseconds');
  for (const text of texts) {
    if (event[text].length > auditCharsMax[text]) throw refuse(protoName(text), `must have at most ${auditCharsMax[text]} characters`);
  }
  if (!isJsonObject(event.detailJson)) throw refuse('detail_json', 'must be a JSON object');
}

const protoName = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
