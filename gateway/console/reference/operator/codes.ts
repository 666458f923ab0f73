// Redemption codes, for operators.
import { Type } from 'typebox';
import { redemptionBodies } from '../../redemption-bodies.js';
import { type Area, made, ok } from '../operation.js';
import { Count, listOf, nullable, Text, Time, Usd, view } from '../shapes.js';

const codeFields = {
  id: Text,
  batch_id: Text,
  last_four: Text,
  amount_usd: Usd,
  state: Type.Enum(['open', 'expired', 'claimed', 'redeemed', 'void'], { description: 'Claimed: being redeemed.' }),
  note: nullable(Text),
  created_by: nullable(Text),
  created_at: Time,
  expires_at: nullable(Time),
  ended_at: nullable(Time),
  account_id: nullable(Text, 'That redeemed it.'),
  entry_id: nullable(Text),
};

export const codeArea: Area = {
  title: 'Operators: redemption codes',
  description: 'Each credits one account once.',
  operations: [
    {
      method: 'GET',
      path: '/operator/codes',
      summary: 'List the codes, newest first.',
      who: 'operator',
      query: { state: 'One of open, claimed, redeemed, void.', batch: 'The id of a batch.' },
      paged: true,
      answers: [ok(listOf(view('Code', codeFields)))],
    },
    {
      method: 'POST',
      path: '/operator/codes',
      summary: 'Make a batch of codes, one when `count` is absent.',
      who: 'operator',
      body: redemptionBodies.create.schema,
      answers: [
        made(
          Type.Object({ batch_id: Text, data: Type.Array(view('NewCode', { ...codeFields, code: nullable(Text) })) }),
          'The codes are in this answer and in no other, ever.',
        ),
      ],
      refusals: {
        invalid_request:
          'Also: the codes are worth more than `confirm_above_usd` together, and that sum was not sent as `confirm_amount_usd`.',
      },
    },
    {
      method: 'POST',
      path: '/operator/codes/{id}/void',
      summary: 'Void a code, or by the id of a batch all of its codes that nobody has redeemed.',
      who: 'operator',
      answers: [ok(Type.Object({ voided: Count }))],
      refusals: { failed_precondition: 'The code is redeemed.' },
    },
  ],
};
