// The health of the whole system, for operators.
import { type Static, Type } from 'typebox';
import { Count, Flag, nullable, Text, Time, Usd, usd, view } from '../shapes.js';
import { driftChecks } from '../words.js';

const checkFields = {
  ok: Flag,
  at: Time,
  accounts_checked: Count,
  entries_checked: Count,
  sum_usd: usd('The sum of the journal; 0 if it balances.'),
  drift_count: Count,
};
const run = nullable(Type.Object({ finished_at: Time, records_checked: Count, holds_checked: Count, drift_count: Count }));
const feed = Type.Object({ live: Flag, silent_ms: nullable(Count) });

export const Health = view(
  'SystemHealth',
  {
    at: Time,
    mode: nullable(Type.Enum(['single', 'distributed']), 'Null: no service is available.'),
    gateway: Type.Object({
      ready: Flag,
      missing: Type.Array(Text, { description: 'Missing parts without which calls cannot be served.' }),
      draining: Flag,
      version: Text,
      node_version: Text,
      started_at: Time,
      calls: Type.Integer({ minimum: 0, description: 'Calls in flight.' }),
      spool: Type.Object({ waiting: Count, refused: Count, damaged_files: Count }),
      feeds: Type.Object({ keys: feed, catalog: feed }),
    }),
    services: Type.Array(
      Type.Object({
        name: Text,
        ready: Flag,
        fault: nullable(Text, 'Why it is unavailable.'),
        version: nullable(Text),
        node_version: nullable(Text),
        started_at: nullable(Time),
        database: nullable(Type.Object({ engine: Text, version: Text, answer_us: Count })),
      }),
    ),
    holds: nullable(Type.Object({ open: Count, past_expiry: Count, oldest_at: nullable(Time) })),
    ledger_check: nullable(Type.Object(checkFields), 'The latest check.'),
    outbox: nullable(Type.Object({ waiting: Count, oldest_at: nullable(Time), refused: Count, open_calls: Count })),
    notifications: nullable(Type.Object({ waiting: Count, oldest_at: nullable(Time) })),
    quarantined_last_hour: nullable(Count),
    reconciliation: nullable(
      Type.Object({
        recent: run,
        full: run,
        drifts: Type.Array(
          Type.Object({
            check: Type.Enum(driftChecks),
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
  'A part that is unavailable is null.',
);

export const LedgerCheck = view('LedgerCheck', {
  ...checkFields,
  drifts: Type.Array(Type.Object({ account_id: Text, what: Text, stored_usd: Usd, rebuilt_usd: Usd })),
});
export type Health = Static<typeof Health>;
export type LedgerCheck = Static<typeof LedgerCheck>;
