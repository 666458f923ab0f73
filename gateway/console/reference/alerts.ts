// The low-balance alert of an account.
import { Type } from 'typebox';
import { AlertChannel, AlertDeliveryState } from '#proto/ledger/v1/alerts.js';
import { alertBodies } from '../routes/alert-bodies.js';
import { type Area, ok } from './operation.js';
import { allOf, Count, enumOf, Flag, listOf, nullable, Text, Time, Usd, view } from './shapes.js';

const alertFields = {
  enabled: Flag,
  threshold_usd: nullable(Usd, 'Null: it was never set.'),
  emails: Type.Array(Text),
  webhook_url: nullable(Text),
  fired: Type.Boolean({ description: 'It has been told, and is not until the balance has clearly risen.' }),
  fired_at: nullable(Time),
  updated_at: nullable(Time),
};

const AlertDelivery = view('AlertDelivery', {
  id: Text,
  event_id: Text,
  test: Flag,
  channel: enumOf(AlertChannel, 'ALERT_CHANNEL_'),
  destination: Text,
  state: enumOf(AlertDeliveryState, 'ALERT_DELIVERY_STATE_'),
  attempts: Count,
  outcome: Type.String({ description: 'Of the last attempt, in words.' }),
  threshold_usd: Usd,
  settled_usd: Usd,
  available_usd: Usd,
  created_at: nullable(Time),
  next_attempt_at: nullable(Time),
  ended_at: nullable(Time),
});

export const alertArea: Area = {
  title: 'Alerts',
  description: 'Who is told when the balance is low.',
  operations: [
    {
      method: 'GET',
      path: '/accounts/{account}/alerts',
      summary: 'Show the alert and how the balance stands to it.',
      who: 'look',
      answers: [
        ok(
          view('AlertNow', {
            ...alertFields,
            settled_usd: Usd,
            available_usd: Usd,
            low: Flag,
            rearm_at_usd: nullable(Usd, 'At which it can be told again.'),
            mail_configured: Type.Boolean({ description: 'Whether this gateway can send mail.' }),
          }),
        ),
      ],
    },
    {
      method: 'PUT',
      path: '/accounts/{account}/alerts',
      summary: 'Replace the alert; what is left out is off or empty.',
      who: 'change money',
      body: alertBodies.putAlert.schema,
      answers: [
        ok(
          Type.Object({ alert: view('Alert', alertFields), webhook_secret: nullable(Text) }),
          'The secret of a webhook is in the answer that makes it and in no other, ever.',
        ),
      ],
    },
    {
      method: 'POST',
      path: '/accounts/{account}/alerts/test',
      summary: 'Send a test at once to all destinations.',
      who: 'change money',
      answers: [ok(allOf(AlertDelivery), 'What came of it.')],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/alerts/deliveries',
      summary: 'List what was sent, newest first.',
      who: 'look',
      paged: true,
      answers: [ok(listOf(AlertDelivery))],
    },
  ],
};
