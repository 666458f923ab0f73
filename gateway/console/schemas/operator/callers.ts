// Callers, for operators.
import { type Static, Type } from 'typebox';
import { listOf, nullable, Time, view } from '../shapes.js';

export const Caller = view('Caller', {
  name: Type.String(),
  identity: Type.String({ description: 'The identity in its certificate: "CN=" and a common name, or a SPIFFE id.' }),
  grants: Type.Array(Type.String(), { description: 'What it may do, such as ledger.read.' }),
  account_ids: nullable(Type.Array(Type.String()), 'The accounts that it is limited to. Null: every account.'),
  created_at: Time,
  revoked_at: nullable(Time, 'Null while it is not revoked.'),
  last_seen_at: nullable(Time, 'When a service last admitted it. Null: never.'),
  certificate_expires_at: nullable(Time, 'Null where another PKI issues its certificates.'),
});
export type Caller = Static<typeof Caller>;
export const CallerList = listOf(Caller);
