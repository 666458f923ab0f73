// API keys of an account.
import { type Static, Type } from 'typebox';
import { keyStateWords } from '#rules/keys/key-state-words.js';
import { Budget, BudgetsBody } from './budgets.js';
import { RateLimits, RateLimitsBody } from './rate-limits.js';
import { brokenAs, Instant, listOf, Name, nullable, optional, parameter, Text, Time, Usd, UsdBody, view } from './shapes.js';

/** What auth knows of a key, without its secret. */
const settings = {
  id: Text,
  project_id: Text,
  name: Text,
  last_four: Text,
  state: Type.Enum(keyStateWords, {
    description: 'Calls are served while it is active or rotating (previous secrets remain valid for a while).',
  }),
  models: nullable(Type.Array(Text), 'Null: all current and future models.'),
  limit_usd: nullable(Usd, 'The most that the key may ever spend.'),
  rate_limits: RateLimits,
  budgets: Type.Array(Budget, { description: 'In addition to the lifetime limit.' }),
  allowed_addresses: Type.Array(Text, {
    description: 'IP addresses and CIDR blocks from which calls are accepted. Empty: from anywhere.',
  }),
  expires_at: nullable(Time),
  created_at: Time,
  created_by: nullable(Text, 'The id of the user who created the key. Null: it was created without a user.'),
  revoked_at: nullable(Time),
  former_secrets_until: nullable(Time, 'Previous secrets remain valid until then.'),
};

const spending = {
  spent_usd: Usd,
  held_usd: Usd,
  remaining_usd: nullable(Usd, 'Null: the key has no limit.'),
};

const activity = {
  last_used_at: nullable(Time, 'The start of the latest call that has ended. Null: no call is on record.'),
  last_used_model: nullable(Text),
  last_used_request_id: nullable(Text),
  refusing: nullable(
    Type.Object({
      reason: Type.String({ description: 'The error reason of the last refused call, such as balance_empty.' }),
      since: Time,
      last_at: Time,
    }),
    'Present while calls with the key are being refused: the last refusal is less than a day old, and no recorded call has begun since.',
  ),
};

/** A key without its secret. */
export const ApiKey = view('Key', { ...settings, ...spending, ...activity });
export type ApiKey = Static<typeof ApiKey>;

/** A key after a change. */
export const ChangedKey = view(
  'ChangedKey',
  { ...settings, ...Type.Partial(Type.Object({ ...spending, ...activity })).properties },
  'A key. Fields of the ledger or metering are absent while that service is unavailable; the change has been made nevertheless. Without the spending, `state` does not say whether the limit is reached.',
);
export type ChangedKey = Static<typeof ChangedKey>;
export type KeyState = ApiKey['state'];

export const KeyList = listOf(ApiKey);
export const KeyCreated = Type.Object({ key: ApiKey, secret: nullable(Text, 'Null in the answer to a repeat.') });
export type KeyCreated = Static<typeof KeyCreated>;
export const KeyRotated = Type.Object({ key: ChangedKey, secret: Text });
export type KeyRotated = Static<typeof KeyRotated>;

export const KeySearch = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the name, the id or the last four characters.' })),
  project: parameter('Only keys of this project, by its id.'),
  state: parameter(`Any of ${keyStateWords.join(', ')}, separated by commas.`),
});

/** Ids of models in a body. */
export const Models = Type.Array(
  Type.String({ pattern: '^[\\x21-\\x7e]{1,200}$', description: 'An id from GET /v1/models.', ...brokenAs('model_ids') }),
  {
    minItems: 1,
    maxItems: 150,
  },
);

/** Addresses and blocks in a body. */
export const AllowedAddresses = Type.Array(Type.String({ minLength: 1, maxLength: 60 }), {
  maxItems: 50,
  description: 'IP addresses and CIDR blocks such as 192.0.2.7, 198.51.100.0/24 or 2001:db8::/32. Empty: calls are accepted from anywhere.',
});

export const CreateKey = Type.Object({
  name: Name,
  project_id: Type.Optional(Text),
  models: optional(Models),
  limit_usd: optional(UsdBody),
  rate_limits: optional(RateLimitsBody),
  budgets: optional(BudgetsBody),
  allowed_addresses: optional(AllowedAddresses),
  expires_at: optional(Instant),
});
export type CreateKey = Static<typeof CreateKey>;

/** Absent fields are unchanged; null removes the limits, the budgets, the expiry or the restriction to models or addresses. Rate limits and budgets are replaced together. */
export const UpdateKey = Type.Object({
  name: Type.Optional(Name),
  project_id: Type.Optional(Text),
  models: optional(Models),
  limit_usd: optional(UsdBody),
  rate_limits: optional(RateLimitsBody),
  budgets: optional(BudgetsBody),
  allowed_addresses: optional(AllowedAddresses),
  expires_at: optional(Instant),
  state: Type.Optional(Type.Enum(['active', 'disabled'])),
});
export type UpdateKey = Static<typeof UpdateKey>;

export const RotateKey = Type.Object({ overlap_seconds: optional(Type.Integer({ minimum: 0, maximum: 2_592_000 })) });
