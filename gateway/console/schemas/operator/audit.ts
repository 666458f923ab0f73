// The audit log, for operators.
import { type Static, Type } from 'typebox';
import { auditFields } from '../members.js';
import { brokenAs, choice, Count, Flag, listOf, nullable, optional, parameter, Text, Time, view } from '../shapes.js';

export const AuditEvent = view('AuditEvent', {
  ...auditFields,
  caller: Type.String({ description: 'The process that sent the request, such as gateway or operator.' }),
  account_id: nullable(Text),
  number: Count,
  hash: Type.String({ description: 'Covers the event and the hash of the previous event.' }),
});
export type AuditEvent = Static<typeof AuditEvent>;
export const AuditEventList = listOf(AuditEvent);

export const AuditCheck = view('AuditCheck', {
  ok: Flag,
  fault: nullable(Text),
  entries_checked: Count,
  last: nullable(Type.Object({ number: Count, hash: Text })),
  restore: nullable(
    Type.Object(
      { at: Time, backup_at: Time, last_number: Count },
      { description: 'The last restore whose backup did not contain the event with the given number, which may explain the fault.' },
    ),
  ),
});
export type AuditCheck = Static<typeof AuditCheck>;

const filter = {
  actor: parameter('Part of the name, the email address or the id of the actor.'),
  action: parameter('What was done, for example key.create.'),
  account: parameter('The id of an account.'),
  target: parameter('The id of what was changed.'),
  from: parameter('A date or a timestamp.'),
  until: parameter('Events before this time.'),
};
export const AuditFilter = Type.Object(filter);
export type AuditFilter = Static<typeof AuditFilter>;
export const ExportAudit = Type.Object({ ...filter, format: choice(['csv', 'jsonl'], 'csv when absent.') });

/** An earlier event, for example from an export. */
export const VerifyAudit = Type.Object({
  number: optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  hash: optional(Type.String({ pattern: '^[0-9a-f]{64}$', description: '64 hexadecimal digits in lower case.', ...brokenAs('hash') })),
});
