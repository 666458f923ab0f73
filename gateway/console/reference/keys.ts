// API keys of an account, and calls with them from the playground.
import { Type } from 'typebox';
import { keyStateWords } from '#rules/key-state.js';
import { bodies } from '../bodies.js';
import { type Area, made, ok } from './operation.js';
import { listOf, nullable, publicSchema, Text, Time, Usd, view } from './shapes.js';

const Key = view('Key', {
  id: Text,
  name: Text,
  last_four: Text,
  state: Type.Enum([...keyStateWords], {
    description: 'Calls are served while it is active or rotating (secrets of before are still accepted).',
  }),
  models: nullable(Type.Array(Text), 'Null: all present and future models.'),
  limit_usd: nullable(Usd, 'What it may spend in its life.'),
  spent_usd: Usd,
  held_usd: Usd,
  remaining_usd: nullable(Usd, 'Null: it has no limit.'),
  expires_at: nullable(Time),
  created_at: Time,
  revoked_at: nullable(Time),
  former_secrets_until: nullable(Time, 'Until then secrets of before a rotation are accepted.'),
  last_used_at: nullable(Time, 'The start of the ended call that started last; null: none is on record.'),
  last_used_model: nullable(Text),
  last_used_request_id: nullable(Text),
});

const secret = 'The secret is in this answer and in no other, ever.';

export const keyArea: Area = {
  title: 'API keys',
  description: 'The platform keys of an account.',
  operations: [
    {
      method: 'GET',
      path: '/accounts/{account}/keys',
      summary: 'List the keys, newest first. A page may be short, even empty, though more is to come: only `next` tells the end.',
      who: 'look',
      query: {
        q: 'Found in the name, the id or the last four characters.',
        state: `Words of ${keyStateWords.join(', ')}, separated by commas.`,
      },
      paged: true,
      answers: [ok(listOf(Key))],
    },
    {
      method: 'POST',
      path: '/accounts/{account}/keys',
      summary: 'Make a key.',
      who: 'change keys',
      idempotency: 'A repeat makes no second key; its answer has no secret.',
      body: bodies.createKey.schema,
      answers: [made(Type.Object({ key: Key, secret: nullable(Text, 'Null in the answer to a repeat.') }), secret)],
    },
    { method: 'GET', path: '/accounts/{account}/keys/{key}', summary: 'Show a key.', who: 'look', answers: [ok(Key)] },
    {
      method: 'PATCH',
      path: '/accounts/{account}/keys/{key}',
      summary: 'Change a key: an absent field stays as it is, null takes the limit, the end or the restriction to models away.',
      who: 'change keys',
      body: bodies.updateKey.schema,
      answers: [ok(Key)],
      refusals: { failed_precondition: 'The key is revoked.' },
    },
    {
      method: 'POST',
      path: '/accounts/{account}/keys/{key}/rotate',
      summary: 'Give a key a new secret; the old one is accepted for `overlap_seconds` more, 0 when absent.',
      who: 'change keys',
      body: bodies.rotateKey.schema,
      answers: [ok(Type.Object({ key: Key, secret: Text }), secret)],
      refusals: { failed_precondition: 'The key is revoked.' },
    },
    {
      method: 'POST',
      path: '/accounts/{account}/keys/{key}/revoke',
      summary: 'End a key for good.',
      who: 'change keys',
      answers: [ok(Key)],
    },
    {
      method: 'POST',
      path: '/accounts/{account}/keys/{key}/chat/completions',
      summary: 'Call a model from the playground in the chat-completions format, charged to the key.',
      who: 'change keys',
      body: publicSchema('ChatCompletionRequest'),
      answers: [
        {
          status: 200,
          description: 'The answer; with "stream": true as server-sent events.',
          schema: publicSchema('ChatCompletion'),
          types: ['text/event-stream'],
        },
      ],
      refusals: { key_disabled: 'Or whatever else a call with the key is refused for.' },
    },
  ],
};
