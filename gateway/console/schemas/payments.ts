// Adding funds through a payment provider.
import { type Static, Type } from 'typebox';
import { Entry } from './billing.js';
import { nullable, Text, Usd, UsdBody, view } from './shapes.js';

export const PaymentOptions = view('PaymentOptions', {
  provider: nullable(Text, 'Null: no payment provider is configured.'),
  currency: Type.Literal('usd'),
  min_usd: Usd,
  max_usd: Usd,
});
export type PaymentOptions = Static<typeof PaymentOptions>;

export const PaymentBegun = view('PaymentBegun', {
  id: Text,
  url: Type.String({ description: 'The page of the provider, which the browser must open.' }),
  provider: Text,
  amount_usd: Usd,
});
export type PaymentBegun = Static<typeof PaymentBegun>;

export const Payment = view('Payment', {
  id: Text,
  state: Type.Enum(['waiting', 'paid']),
  amount_usd: nullable(Usd),
  entry: nullable(Entry),
});
export type Payment = Static<typeof Payment>;

export const BeginPayment = Type.Object({ amount_usd: UsdBody });
