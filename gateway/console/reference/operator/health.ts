// How the whole system stands, for operators.
import { Type } from 'typebox';
import { DriftCheck } from '#proto/metering/v1/metering.js';
import { type Area, ok } from '../operation.js';
import { Count, enumOf, Flag, nullable, Text, Time, Usd, usd, view } from '../shapes.js';

const checkFields = {
  ok: Flag,
  at: Time,
  accounts_checked: Count,
  entries_checked: Count,
  sum_usd: usd('Over all books; 0 where they agree.'),
  drift_count: Count,
};
const run = nullable(Type.Object({ finished_at: Time, records_checked: Count, holds_checked: Count, drift_count: Count }));
const feed = Type.Object({ live: Flag, silent_ms: nullable(Count) });

const SystemHealth = view(
  'SystemHealth',
  {
    at: Time,
    mode: nullable(Type.Enum(['single', 'distributed']), 'Null: no part answers.'),
    gateway: Type.Object({
      ready: Flag,
      missing: Type.Array(Text, { description: 'Parts without which calls cannot be served.' }),
      draining: Flag,
      version: Text,
      node_version: Text,
      started_at: Time,
      calls: Type.Integer({ minimum: 0, description: 'Under way.' }),
      spool: Type.Object({ waiting: Count, refused: Count, damaged_files: Count }),
      feeds: Type.Object({ keys: feed, catalog: feed }),
    }),
    services: Type.Array(
      Type.Object({
        name: Text,
        ready: Flag,
        fault: nullable(Text, 'Why it does not answer.'),
        version: nullable(Text),
        node_version: nullable(Text),
        started_at: nullable(Time),
        database: nullable(Type.Object({ engine: Text, version: Text, answer_us: Count })),
      }),
    ),
    holds: nullable(Type.Object({ open: Count, past_expiry: Count, oldest_at: nullable(Time) })),
    ledger_check: nullable(Type.Object(checkFields), 'The last one.'),
    outbox: nullable(Type.Object({ waiting: Count, oldest_at: nullable(Time), refused: Count, open_calls: Count })),
    quarantined_last_hour: nullable(Count),
    reconciliation: nullable(
      Type.Object({
        recent: run,
        full: run,
        drifts: Type.Array(
          Type.Object({
            check: enumOf(DriftCheck, 'DRIFT_CHECK_'),
            account_id: nullable(Text),
            request_id: nullable(Text),
            what: Text,
            stored: Text,
            expected: Text,
          }),
        ),
      }),
    ),
    upstreams: nullable(
      Type.Array(
        Type.Object({ id: Text, enabled: Flag, last_test: nullable(Type.Object({ ok: Flag, failed_step: nullable(Text), at: Time })) }),
      ),
    ),
  },
  'A part that does not answer is told as null.',
);

const LedgerCheck = view('LedgerCheck', {
  ...checkFields,
  drifts: Type.Array(Type.Object({ account_id: Text, what: Text, stored_usd: Usd, rebuilt_usd: Usd })),
});

export const healthArea: Area = {
  title: 'Operators: health',
  description: 'How the parts of this Tollgate stand.',
  operations: [
    { method: 'GET', path: '/operator/health', summary: 'Show how every part stands.', who: 'operator', answers: [ok(SystemHealth)] },
    {
      method: 'POST',
      path: '/operator/health/ledger-check',
      summary: 'Rebuild all balances from the journal and the holds now.',
      who: 'operator',
      answers: [ok(LedgerCheck)],
    },
  ],
};
