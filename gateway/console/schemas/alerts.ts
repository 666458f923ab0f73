// The low-balance alert of an account.
import { type Static, Type } from 'typebox';
import { allOf, Count, Flag, listOf, nullable, optional, Text, textOf, Time, Usd, UsdBody, view } from './shapes.js';
import { deliveryStates } from './words.js';

const alertFields = {
  enabled: Flag,
  threshold_usd: nullable(Usd, 'Null: the alert was never set.'),
  emails: Type.Array(Text),
  fired: Type.Boolean({
    description: 'Whether the alert has been sent. It is not sent again until the balance has risen to `rearm_at_usd`.',
  }),
  fired_at: nullable(Time),
  updated_at: nullable(Time),
};
export const Alert = view('Alert', alertFields);
export type Alert = Static<typeof Alert>;

export const AlertNow = view('AlertNow', {
  ...alertFields,
  settled_usd: Usd,
  available_usd: Usd,
  low: Flag,
  rearm_at_usd: nullable(Usd, 'The balance at which the alert can be sent again.'),
  mail_configured: Type.Boolean({ description: 'Whether this installation can send mail.' }),
});
export type AlertNow = Static<typeof AlertNow>;

/** The budget of an alert of a budget. */
const AlertedBudget = view('AlertedBudget', {
  id: Text,
  scope: Type.Enum(['account', 'project', 'key']),
  scope_id: Text,
  period: Type.Enum(['lifetime', 'month', 'week', 'day']),
  percent: Count,
  limit_usd: Usd,
  spent_usd: Usd,
});

/** One mail to one address. */
export const Delivery = view('AlertDelivery', {
  id: Text,
  event_id: nullable(Text, 'Null for an email about something else, such as a disabled webhook endpoint.'),
  test: Flag,
  destination: Text,
  state: Type.Enum(deliveryStates),
  attempts: Count,
  outcome: Type.String({ description: 'The result of the last attempt, as text.' }),
  threshold_usd: nullable(Usd, 'This and the next two fields are null except for a low-balance alert.'),
  settled_usd: nullable(Usd),
  available_usd: nullable(Usd),
  budget: nullable(AlertedBudget, 'Null except for a budget alert.'),
  refused_key: nullable(
    Type.Object({ key_id: Text, project_id: Text, reason: Text }),
    'The key whose calls began to be refused, and why. Null for other alerts.',
  ),
  created_at: nullable(Time),
  next_attempt_at: nullable(Time),
  ended_at: nullable(Time),
});
export type Delivery = Static<typeof Delivery>;
export const DeliveryList = listOf(Delivery);
export const TestDeliveries = allOf(Delivery);

/** The whole alert: absent fields are off or empty. */
export const PutAlert = Type.Object({
  enabled: Type.Boolean(),
  threshold_usd: UsdBody,
  emails: optional(Type.Array(textOf(0, 300), { maxItems: 20 })),
});
export type PutAlert = Static<typeof PutAlert>;
