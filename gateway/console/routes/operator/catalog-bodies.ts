// The bodies of the operator's catalog routes. They are shaped so that the field which a service's refusal names is the field of the body.
import { type TSchema, Type } from 'typebox';
import { optional } from '../../../formats/fields.js';
import { Instant, readBody } from '../../bodies.js';
import { words } from '../../render/catalog-words.js';

const Text = (maxLength: number) => Type.String({ maxLength });
const Tokens = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const Usd = Type.String({ pattern: '^\\d{1,6}(\\.\\d{1,9})?$', description: 'Decimal USD per million tokens.' });
const Version = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const modelFields = {
  display_name: Text(300),
  description: Text(3000),
  provider: Text(200),
  context_limit_tokens: Tokens,
  output_limit_tokens: Tokens,
  input_modalities: Type.Array(Type.Enum(words.modality.all), { maxItems: 16 }),
  output_modalities: Type.Array(Type.Enum(words.modality.all), { maxItems: 16 }),
  capabilities: Type.Array(Type.Enum(words.capability.all), { maxItems: 16 }),
  targets: Type.Array(Type.Object({ upstream_id: Text(100), upstream_model: Text(300) }), { maxItems: 50 }),
  tokenizer: Type.Enum(words.tokenizer.all),
  state: Type.Enum(words.state.all),
  image_tokens_max: Tokens,
  aliases: Type.Array(Text(200), { maxItems: 50 }),
};

const Prices = Type.Object({
  input: Usd,
  cache_read: Usd,
  cache_write_5m: Usd,
  cache_write_1h: Usd,
  output: Usd,
  // Absent or null: charged as output.
  reasoning: optional(Usd),
});

const upstreamFields = {
  api_format: Type.Enum(['chat_completions', 'messages']),
  base_url: Text(2048),
  allow_private_network: Type.Boolean(),
  enabled: Type.Boolean(),
};

const read = <S extends TSchema>(schema: S) => readBody(schema, 'brackets');

/** A reader for each body; each raises invalid_request that names the field. */
export const catalogBodies = {
  createModel: read(
    Type.Object({
      model: Type.Object({
        id: Text(200),
        ...modelFields,
        description: Type.Optional(modelFields.description),
        provider: Type.Optional(modelFields.provider),
        capabilities: Type.Optional(modelFields.capabilities),
        image_tokens_max: Type.Optional(modelFields.image_tokens_max),
        aliases: Type.Optional(modelFields.aliases),
        state: Type.Optional(modelFields.state),
      }),
    }),
  ),
  // What is absent stays as it is.
  updateModel: read(Type.Object({ model: Type.Partial(Type.Object(modelFields)) })),
  // Without effective_from the price begins when it is published; replaces_version is the draft that was looked at, 0 for none.
  putDraft: read(Type.Object({ usd_per_million_tokens: Prices, effective_from: optional(Instant), replaces_version: optional(Version) })),
  // before_price_id is that of the difference that was looked at, null where the model had no price.
  publish: read(Type.Object({ draft_version: Version, before_price_id: Type.Union([Text(100), Type.Null()]) })),
  createUpstream: read(
    Type.Object({
      upstream: Type.Object({
        id: Text(100),
        ...upstreamFields,
        allow_private_network: Type.Optional(Type.Boolean()),
        enabled: Type.Optional(Type.Boolean()),
      }),
      secret: optional(Text(1024)),
    }),
  ),
  // What is absent stays as it is, the secret too; an empty secret or null takes it away.
  updateUpstream: read(Type.Object({ upstream: Type.Optional(Type.Partial(Type.Object(upstreamFields))), secret: optional(Text(1024)) })),
  testUpstream: read(Type.Object({ upstream_model: optional(Type.String({ minLength: 1, maxLength: 200 })) })),
};
