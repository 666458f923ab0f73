// Models and their prices, for operators.
import { type Static, Type } from 'typebox';
import { Count, Flag, Instant, listOf, nullable, optional, Text, textOf, Time, Usd, UsdBody, view } from '../shapes.js';
import { ModelView } from '../../../formats/models-schema.js';
import { capabilities, modalities, modelStates, priceWarnings, tokenizers } from '../words.js';

export const Figures = view(
  'Figures',
  {
    input: Usd,
    cache_read: Usd,
    cache_write_5m: Usd,
    cache_write_1h: Usd,
    output: Usd,
    reasoning: nullable(Usd, 'Null: charged as output.'),
  },
  'USD per million tokens.',
);

const unit_prices = ModelView.properties.unit_prices;
const priceFields = { id: Text, effective_from: Time, usd_per_million_tokens: Figures, unit_prices, created_at: Time };
export const Price = view('Price', priceFields);
export const DatedPrice = view('PriceInHistory', {
  ...priceFields,
  state: Type.Enum(['in_force', 'scheduled', 'past']),
  effective_until: nullable(Time),
});

const draftFields = {
  model_id: Text,
  version: Type.Integer({ description: 'Increases with each change of the draft.' }),
  author: nullable(Text),
  updated_at: Time,
  effective_from: nullable(Time, 'Null: when it is published.'),
  usd_per_million_tokens: Figures,
  unit_prices,
};
export const Draft = view('Draft', draftFields);

const Percent = Type.String({ pattern: '^-?\\d+\\.\\d{2}$', description: 'For example "-33.33".' });
export const PriceDifference = view('PriceDifference', {
  before: nullable(Price, 'Null: the model has no price.'),
  changes: Type.Array(
    Type.Object({
      unit: Type.String({ description: 'A class of tokens or another unit.' }),
      per: Type.Integer({ description: 'The quantity that the prices are for: 1000000 for tokens, otherwise 1.' }),
      before_usd: nullable(Usd),
      after_usd: nullable(Usd),
      change_percent: nullable(Percent),
      before_max_per_call: nullable(Count, 'Null for tokens, and for a unit without a price.'),
      after_max_per_call: nullable(Count),
    }),
  ),
  warnings: Type.Array(Type.Object({ kind: Type.Enum(priceWarnings), unit: nullable(Text) })),
  later: Type.Array(Price, { description: 'Prices that take effect after this one.' }),
  typical_calls: Type.Array(
    Type.Object({
      name: Text,
      tokens: Type.Object({
        input: Count,
        cache_read: Count,
        cache_write_5m: Count,
        cache_write_1h: Count,
        output: Count,
        reasoning: Count,
      }),
      units: Type.Array(Type.Object({ unit: Text, quantity: Count })),
      before_usd: nullable(Usd),
      after_usd: nullable(Usd),
    }),
    { description: 'What they cost before and after, computed by the code that charges calls.' },
  ),
});
export const ComparedDraft = view('DraftWithDifference', { ...draftFields, diff: PriceDifference });

const target = {
  upstream_id: Text,
  upstream_model: Text,
  priority: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Targets with a lower number are used first. Absent: the position in the list, from 0.' }),
  ),
  weight: Type.Optional(Type.Integer({ minimum: 1, description: 'The share of calls among the targets of the same priority. Absent: 1.' })),
};
const modelFields = {
  id: Text,
  display_name: Text,
  description: Text,
  provider: Text,
  context_limit_tokens: Count,
  output_limit_tokens: Count,
  input_modalities: Type.Array(Type.Enum(modalities)),
  output_modalities: Type.Array(Type.Enum(modalities)),
  capabilities: Type.Array(Type.Enum(capabilities)),
  targets: Type.Array(Type.Object(target)),
  tokenizer: Type.Enum(tokenizers),
  state: Type.Enum(modelStates),
  image_tokens_max: Count,
  prefix_affinity: Flag,
  hedge_after_ms: nullable(Count),
  aliases: Type.Array(Text),
};
const servedFields = {
  ...modelFields,
  targets: Type.Array(Type.Object({ ...target, state: Type.Enum(['ok', 'disabled', 'unknown_upstream']) })),
  pricing: Type.Enum(['unpriced', 'free', 'priced'], { description: 'Calls to an unpriced model are refused.' }),
  price: nullable(Price, 'The price in force.'),
  next_price: nullable(Price),
  served: Flag,
  not_served_because: nullable(Type.Enum(['retired', 'unpriced', 'no_enabled_upstream', 'paused'])),
  paused: nullable(Type.Object({ since: Time, until: nullable(Time, 'Null: no end is known.'), reason: Text }), 'Null: it is not paused.'),
  created_at: Time,
};
export const OperatorModel = view('ModelInList', { ...servedFields, draft: nullable(Draft) });
export const WholeModel = view('Model', { ...servedFields, prices: Type.Array(DatedPrice), draft: nullable(ComparedDraft) });

export const PauseModel = Type.Object({
  until: optional(Instant),
  reason: optional(textOf(0, 200)),
});
export type PauseModel = Static<typeof PauseModel>;

export const OperatorModelList = listOf(OperatorModel);
export const DraftList = listOf(Draft);
export const CatalogFile = Type.Object({
  models: Type.Array(view('ModelInFile', { ...modelFields, usd_per_million_tokens: nullable(Figures, 'Null: unpriced.'), unit_prices })),
});
export type Figures = Static<typeof Figures>;
export type TokenClass = keyof Figures;
export type UnitPrices = Price['unit_prices'];
export type Price = Static<typeof Price>;
export type DatedPrice = Static<typeof DatedPrice>;
export type Draft = Static<typeof Draft>;
export type ComparedDraft = Static<typeof ComparedDraft>;
export type PriceDifference = Static<typeof PriceDifference>;
export type Change = PriceDifference['changes'][number];
export type TypicalCall = PriceDifference['typical_calls'][number];
export type OperatorModel = Static<typeof OperatorModel>;
export type ModelState = OperatorModel['state'];
export type WholeModel = Static<typeof WholeModel>;

const Tokens = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const FigureBody = Type.String({ ...UsdBody, description: 'Decimal USD per million tokens.' });

const modelBody = {
  display_name: textOf(0, 300),
  description: textOf(0, 3000),
  provider: textOf(0, 200),
  context_limit_tokens: Tokens,
  output_limit_tokens: Tokens,
  input_modalities: Type.Array(Type.Enum(modalities), { maxItems: 16 }),
  output_modalities: Type.Array(Type.Enum(modalities), { maxItems: 16 }),
  capabilities: Type.Array(Type.Enum(capabilities), { maxItems: 16 }),
  targets: Type.Array(
    Type.Object({
      upstream_id: textOf(0, 100),
      upstream_model: textOf(0, 300),
      priority: Type.Optional(Type.Integer({ minimum: 0 })),
      weight: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
    { maxItems: 50 },
  ),
  tokenizer: Type.Enum(tokenizers),
  state: Type.Enum(modelStates),
  image_tokens_max: Tokens,
  hedge_after_ms: nullable(
    Tokens,
    'When no first token has arrived after this time, a second target is called as well, and the first response is used. Null: never.',
  ),
  prefix_affinity: Type.Boolean({
    description: 'Calls with the same prompt prefix go to the same target while it is healthy, because it has the prefix in its cache.',
  }),
  aliases: Type.Array(textOf(0, 200), { maxItems: 50 }),
};

const ModelBody = Type.Object(modelBody);
/** The fields of a model that an operator sets. */
export type ModelFields = Static<typeof ModelBody>;

const FiguresBody = Type.Object({
  input: FigureBody,
  cache_read: FigureBody,
  cache_write_5m: FigureBody,
  cache_write_1h: FigureBody,
  output: FigureBody,
  // Absent or null: charged as output.
  reasoning: optional(FigureBody),
});

const UnitPricesBody = Type.Array(
  Type.Object({
    unit: textOf(1, 32),
    usd: Type.String({ ...UsdBody, description: 'Decimal USD for one unit.' }),
    max_per_call: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
  }),
  { maxItems: 16 },
);

export const CreateModel = Type.Object({
  model: Type.Object({
    id: textOf(0, 200),
    ...modelBody,
    description: Type.Optional(modelBody.description),
    provider: Type.Optional(modelBody.provider),
    capabilities: Type.Optional(modelBody.capabilities),
    image_tokens_max: Type.Optional(modelBody.image_tokens_max),
    prefix_affinity: Type.Optional(modelBody.prefix_affinity),
    hedge_after_ms: Type.Optional(modelBody.hedge_after_ms),
    aliases: Type.Optional(modelBody.aliases),
    state: Type.Optional(modelBody.state),
  }),
});
/** Absent fields are unchanged. */
export const UpdateModel = Type.Object({ model: Type.Partial(ModelBody) });
export type UpdateModel = Static<typeof UpdateModel>['model'];
/** Without effective_from the price starts when it is published; replaces_version is the draft's version that was shown, 0 for none. */
export const PutDraft = Type.Object({
  usd_per_million_tokens: FiguresBody,
  // Absent: only tokens have prices.
  unit_prices: optional(UnitPricesBody),
  effective_from: optional(Instant),
  replaces_version: optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});
export type PutDraft = Static<typeof PutDraft>;
/** before_price_id is that of the difference that was shown, null if the model had no price. */
export const PublishDraft = Type.Object({
  draft_version: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  before_price_id: Type.Union([textOf(0, 100), Type.Null()]),
});
export const DiscardDraft = Type.Object({
  version: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'The version that was shown.' })),
});
