// Rate limits of keys and accounts.
import { type Static, Type } from 'typebox';
import { brokenAs, nullable, optional, Text, view } from './shapes.js';

const fields = {
  rpm: nullable(Type.Integer({ minimum: 0 }), 'Requests per minute. Null: the default of the installation; 0: no limit.'),
  tpm: nullable(Type.Integer({ minimum: 0 }), 'Input and output tokens per minute.'),
  concurrency: nullable(Type.Integer({ minimum: 0 }), 'Calls in flight.'),
};

export const RateLimits = view('RateLimits', fields);
export type RateLimits = Static<typeof RateLimits>;

const modelsMax = 100;

export const AccountRateLimits = view('AccountRateLimits', {
  ...fields,
  models: Type.Array(Type.Object({ model_id: Text, ...fields }), {
    description: 'Limits of individual models within the account, in addition to those of all models together.',
  }),
});
export type AccountRateLimits = Static<typeof AccountRateLimits>;

const bodyFields = {
  rpm: optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  tpm: optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
  concurrency: optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
};

/** Absent and null limits are the default of the installation. */
export const RateLimitsBody = Type.Object(bodyFields);
export type RateLimitsBody = Static<typeof RateLimitsBody>;

const ModelId = Type.String({ pattern: '^[\\x21-\\x7e]{1,200}$', description: 'An id from GET /v1/models.', ...brokenAs('model_ids') });

export const AccountRateLimitsBody = Type.Object({
  ...bodyFields,
  models: Type.Optional(Type.Array(Type.Object({ model_id: ModelId, ...bodyFields }), { maxItems: modelsMax })),
});
export type AccountRateLimitsBody = Static<typeof AccountRateLimitsBody>;
