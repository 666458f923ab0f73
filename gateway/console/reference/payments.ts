// Adding money to an account by a payment provider.
import { Type } from 'typebox';
import { alertBodies } from '../routes/alert-bodies.js';
import { Entry } from './money.js';
import { type Area, made, ok } from './operation.js';
import { nullable, Text, Usd, view } from './shapes.js';

export const paymentArea: Area = {
  title: 'Payments',
  description: 'Adding money by a payment provider, where one is set up.',
  operations: [
    {
      method: 'GET',
      path: '/accounts/{account}/payments',
      summary: 'Show whether and how much can be paid.',
      who: 'look',
      answers: [
        ok(
          view('PaymentOptions', {
            provider: nullable(Text, 'Null: nobody can pay here.'),
            currency: Type.Literal('usd'),
            min_usd: Usd,
            max_usd: Usd,
          }),
        ),
      ],
    },
    {
      method: 'POST',
      path: '/accounts/{account}/payments',
      summary: 'Begin a payment.',
      who: 'change money',
      idempotency: 'A repeat with the same amount leads to the same page of the provider.',
      body: alertBodies.beginPayment.schema,
      answers: [
        made(
          view('PaymentBegun', {
            id: Text,
            url: Type.String({ description: 'The page of the provider, to which the browser goes.' }),
            provider: Text,
            amount_usd: Usd,
          }),
        ),
      ],
      refusals: { failed_precondition: 'No provider is set up.' },
    },
    {
      method: 'GET',
      path: '/accounts/{account}/payments/{payment}',
      summary: 'Show whether a payment has been credited.',
      who: 'look',
      answers: [
        ok(view('Payment', { id: Text, state: Type.Enum(['waiting', 'paid']), amount_usd: nullable(Usd), entry: nullable(Entry) })),
      ],
      refusals: { failed_precondition: 'No provider is set up.' },
    },
  ],
};
