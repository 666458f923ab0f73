// Models and their prices, for operators.
import { Type } from 'typebox';
import { words } from '../../render/catalog-words.js';
import { catalogBodies } from '../../routes/operator/catalog-bodies.js';
import { type Area, done, made, ok } from '../operation.js';
import { Count, Flag, listOf, nullable, Text, Time, Usd, view } from '../shapes.js';

const Figures = view(
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

const priceFields = { id: Text, effective_from: Time, usd_per_million_tokens: Figures, created_at: Time };
const Price = view('Price', priceFields);
const PriceInHistory = view('PriceInHistory', {
  ...priceFields,
  state: Type.Enum(['in_force', 'scheduled', 'past']),
  effective_until: nullable(Time),
});

const draftFields = {
  model_id: Text,
  version: Type.Integer({ description: 'Counts up with each change of the draft.' }),
  author: nullable(Text),
  updated_at: Time,
  effective_from: nullable(Time, 'Null: when it is published.'),
  usd_per_million_tokens: Figures,
};
const Draft = view('Draft', draftFields);

const Percent = Type.String({ pattern: '^-?\\d+\\.\\d{2}$', description: 'For example "-33.33".' });
const PriceDifference = view('PriceDifference', {
  before: nullable(Price, 'Null: the model has no price.'),
  changes: Type.Array(
    Type.Object({
      class: Type.Enum(words.tokenClass.all),
      before_usd: nullable(Usd),
      after_usd: nullable(Usd),
      change_percent: nullable(Percent),
    }),
  ),
  warnings: Type.Array(Type.Object({ kind: Type.Enum(words.warning.all), class: nullable(Type.Enum(words.tokenClass.all)) })),
  later: Type.Array(Price, { description: 'Prices that start after it.' }),
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
      before_usd: nullable(Usd),
      after_usd: nullable(Usd),
    }),
    { description: 'What they cost before and after, by the function that charges calls.' },
  ),
});
const DraftWithDifference = view('DraftWithDifference', { ...draftFields, diff: PriceDifference });

const modelFields = {
  id: Text,
  display_name: Text,
  description: Text,
  provider: Text,
  context_limit_tokens: Count,
  output_limit_tokens: Count,
  input_modalities: Type.Array(Type.Enum(words.modality.all)),
  output_modalities: Type.Array(Type.Enum(words.modality.all)),
  capabilities: Type.Array(Type.Enum(words.capability.all)),
  targets: Type.Array(Type.Object({ upstream_id: Text, upstream_model: Text })),
  tokenizer: Type.Enum(words.tokenizer.all),
  state: Type.Enum(words.state.all),
  image_tokens_max: Count,
  aliases: Type.Array(Text),
};
const servedFields = {
  ...modelFields,
  targets: Type.Array(Type.Object({ upstream_id: Text, upstream_model: Text, state: Type.Enum(['ok', 'disabled', 'unknown_upstream']) })),
  pricing: Type.Enum(['unpriced', 'free', 'priced'], { description: 'An unpriced model is refused.' }),
  price: nullable(Price, 'That in force.'),
  next_price: nullable(Price),
  served: Flag,
  not_served_because: nullable(Type.Enum(['retired', 'unpriced', 'no_enabled_upstream'])),
  created_at: Time,
};
const ModelInList = view('ModelInList', { ...servedFields, draft: nullable(Draft) });
const Model = view('Model', { ...servedFields, prices: Type.Array(PriceInHistory), draft: nullable(DraftWithDifference) });

export const catalogArea: Area = {
  title: 'Operators: models and prices',
  description: 'A price goes from a draft by its difference into force.',
  operations: [
    {
      method: 'GET',
      path: '/operator/models',
      summary: 'List all models, retired ones too; never in pages.',
      who: 'operator',
      answers: [ok(listOf(ModelInList))],
    },
    {
      method: 'POST',
      path: '/operator/models',
      summary: 'Make a model.',
      who: 'operator',
      body: catalogBodies.createModel.schema,
      answers: [made(Model)],
      refusals: { already_exists: 'The id or an alias names a model already.' },
    },
    {
      method: 'GET',
      path: '/operator/models/{model}',
      summary: 'Show a model with all of its prices and its draft.',
      who: 'operator',
      answers: [ok(Model)],
      refusals: { model_unknown: 'There is no such model.' },
    },
    {
      method: 'PATCH',
      path: '/operator/models/{model}',
      summary: 'Change a model: what is absent stays as it is; to retire one is to put its state.',
      who: 'operator',
      body: catalogBodies.updateModel.schema,
      answers: [ok(Model)],
      refusals: { already_exists: 'An alias names another model.', model_unknown: 'There is no such model.' },
    },
    {
      method: 'GET',
      path: '/operator/catalog.json',
      summary: 'Get all models with their prices in force, as `tollgate model import` takes them.',
      who: 'operator',
      answers: [
        ok(
          Type.Object({
            models: Type.Array(view('ModelInFile', { ...modelFields, usd_per_million_tokens: nullable(Figures, 'Null: unpriced.') })),
          }),
        ),
      ],
    },
    {
      method: 'GET',
      path: '/operator/price-drafts',
      summary: 'List the drafts; never in pages.',
      who: 'operator',
      answers: [ok(listOf(Draft))],
    },
    {
      method: 'GET',
      path: '/operator/price-drafts/{model}',
      summary: 'Show a draft and what publishing it would change.',
      who: 'operator',
      answers: [ok(DraftWithDifference)],
    },
    {
      method: 'PUT',
      path: '/operator/price-drafts/{model}',
      summary: 'Write a draft; nothing is in force until it is published.',
      who: 'operator',
      body: catalogBodies.putDraft.schema,
      answers: [ok(DraftWithDifference)],
      refusals: { failed_precondition: 'The draft is not the one that `replaces_version` names.' },
    },
    {
      method: 'DELETE',
      path: '/operator/price-drafts/{model}',
      summary: 'Discard a draft.',
      who: 'operator',
      query: { version: 'The version that was looked at.' },
      answers: [done()],
      refusals: { failed_precondition: 'The draft has changed.' },
    },
    {
      method: 'POST',
      path: '/operator/prices/{model}',
      summary: 'Publish a draft as it was compared; a repeat is answered as the first time was.',
      who: 'operator',
      body: catalogBodies.publish.schema,
      answers: [made(Price)],
      refusals: { failed_precondition: 'The draft or the price before it has changed.' },
    },
  ],
};
