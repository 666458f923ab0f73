// Redemption codes, for operators.
import { type Static, Type } from 'typebox';
import { choice, Count, Instant, listOf, nullable, optional, parameter, Text, textOf, Time, Usd, UsdBody, view } from '../shapes.js';
import { codeStates } from '../words.js';

const codeFields = {
  id: Text,
  batch_id: Text,
  last_four: Text,
  amount_usd: Usd,
  state: Type.Enum([...codeStates, 'expired'], { description: 'claimed: the code is being redeemed.' }),
  note: nullable(Text),
  created_by: nullable(Text),
  created_at: Time,
  expires_at: nullable(Time),
  ended_at: nullable(Time),
  account_id: nullable(Text, 'The account that redeemed it.'),
  entry_id: nullable(Text),
};
export const Code = view('Code', codeFields);
export type Code = Static<typeof Code>;
export type CodeState = Code['state'];
export const CodeList = listOf(Code);

export const CodesCreated = Type.Object({ batch_id: Text, data: Type.Array(view('NewCode', { ...codeFields, code: nullable(Text) })) });
export type CodesCreated = Static<typeof CodesCreated>;
export const Voided = Type.Object({ voided: Count });
export type Voided = Static<typeof Voided>;

export const ListCodes = Type.Object({ state: choice(codeStates, 'All when absent.'), batch: parameter('The id of a batch.') });
export const CreateCodes = Type.Object({
  amount_usd: UsdBody,
  count: optional(Type.Integer({ minimum: 1, maximum: 500 })),
  expires_at: optional(Instant),
  note: optional(textOf(0, 200)),
  // The total of the batch, if it is above `confirm_above_usd`.
  confirm_amount_usd: optional(UsdBody),
});
export type CreateCodes = Static<typeof CreateCodes>;
