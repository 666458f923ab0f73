// The audit log over everything, for operators.
import { Type } from 'typebox';
import { operatorBodies } from '../../routes/operator/operator-bodies.js';
import { auditFields } from '../members.js';
import { type Area, file, ok } from '../operation.js';
import { Count, Flag, listOf, nullable, Text, view } from '../shapes.js';

const AuditEvent = view('AuditEvent', {
  ...auditFields,
  actor_user_id: nullable(Text, 'Null: it was done by a command.'),
  caller: { ...Text, description: 'The process that sent the request, such as gateway or operator.' },
  account_id: nullable(Text),
  number: Count,
  hash: { ...Text, description: 'Covers the entry and the hash of the previous entry.' },
});

const filter = {
  actor: 'Found in the name, the address or the id of who did it.',
  action: 'What was done, for example key.create.',
  account: 'The id of an account.',
  target: 'The id of what was changed.',
  from: 'A date or an instant.',
  until: 'Entries before then.',
};

export const auditArea: Area = {
  title: 'Operators: audit log',
  description: 'What people changed, everywhere. It is only added to.',
  operations: [
    {
      method: 'GET',
      path: '/operator/audit',
      summary: 'List the entries, newest first.',
      who: 'operator',
      query: filter,
      paged: true,
      answers: [ok(listOf(AuditEvent))],
    },
    {
      method: 'GET',
      path: '/operator/audit/export',
      summary: 'Get exactly the entries of the filter as a file.',
      who: 'operator',
      query: { ...filter, format: 'csv, which it is when absent, or jsonl.' },
      answers: [file('The file, streamed; each line of jsonl is an audit entry.', 'text/csv', 'application/x-ndjson')],
    },
    {
      method: 'POST',
      path: '/operator/audit/verify',
      summary: 'Compute the chain anew; with number and hash of an entry, also whether that one is still there.',
      who: 'operator',
      body: operatorBodies.verifyAuditLog.schema,
      answers: [
        ok(
          view('AuditCheck', {
            ok: Flag,
            fault: nullable(Text),
            entries_checked: Count,
            last: nullable(Type.Object({ number: Count, hash: Text })),
          }),
        ),
      ],
    },
  ],
};
