// Models as JSON: one shape for the clients of all formats, plus the fields that only Tollgate returns.
import { type Static, type TSchema, Type } from 'typebox';

const ExactUsd = Type.String({ description: 'Decimal USD, exact.', examples: ['2.5'] });
const nullableText = Type.Union([Type.String(), Type.Null()]);

/** A model in GET /v1/models and GET /v1/models/{id}. */
export const ModelView = Type.Object(
  {
    id: Type.String({ description: 'The value to send as `model`.', examples: ['sandbox/echo'] }),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    owned_by: Type.String(),
    type: Type.Literal('model'),
    display_name: Type.String(),
    created_at: Type.String({ description: 'RFC 3339.' }),
    max_input_tokens: Type.Integer({ description: 'The context limit: the maximum of input and output tokens together.' }),
    max_tokens: Type.Integer({ description: 'The maximum number of output tokens in one answer.' }),
    lifecycle: Type.Enum(['active', 'deprecated', 'retired']),
    description: Type.String(),
    aliases: Type.Array(Type.String()),
    input_modalities: Type.Array(Type.String()),
    output_modalities: Type.Array(Type.String()),
    features: Type.Array(
      Type.String({
        description:
          'What the model can do besides text. Requests with a JSON schema are refused for models without `structured_output`; the upstream decides about the others.',
      }),
    ),
    max_image_tokens: Type.Optional(
      Type.Integer({
        description: 'The maximum number of input tokens for which funds are held per image. Only for models that read images.',
      }),
    ),
    usd_per_million_tokens: Type.Union([
      Type.Object(
        {
          input: ExactUsd,
          cache_read: ExactUsd,
          cache_write_5m: ExactUsd,
          cache_write_1h: ExactUsd,
          output: ExactUsd,
          reasoning: Type.Optional(Type.String({ description: 'Only if reasoning is priced separately from output.' })),
        },
        { description: 'The current prices.' },
      ),
      Type.Null(),
    ]),
    unit_prices: Type.Array(
      Type.Object({
        unit: Type.String({
          description:
            "`request`: each call that is charged. `web_search`: a search that the vendor runs for the model. Other names are the operator's.",
          examples: ['request'],
        }),
        usd: ExactUsd,
        max_per_call: Type.Integer({ minimum: 1, description: 'The most that one call can use.' }),
      }),
      { description: 'The current prices of units other than tokens, each for one unit. A call pays for them in addition to its tokens.' },
    ),
    paused: Type.Optional(
      Type.Object(
        { until: Type.Union([Type.String({ description: 'RFC 3339.' }), Type.Null()]), reason: Type.String() },
        {
          description:
            'Present only while the operator has paused the model. Calls to it are refused until this time; null if no end is known.',
        },
      ),
    ),
  },
  { title: 'Model' },
);
export type ModelView = Static<typeof ModelView>;
/** The prices of units that are not tokens. */
export type UnitPrices = ModelView['unit_prices'];

/** The envelope of GET /v1/models. */
export const ModelList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ModelView),
    has_more: Type.Boolean(),
    first_id: nullableText,
    last_id: nullableText,
  },
  { title: 'ModelList' },
);
export type ModelList = Static<typeof ModelList>;

const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const PerformancePeriod = Type.Object({
  available_percent: Type.Number({ description: 'The share of calls that did not end in an error of an upstream or of Tollgate.' }),
  first_token_ms: nullable(Type.Object({ p50: Type.Integer(), p95: Type.Integer() })),
  output_tokens_per_second: nullable(
    Type.Object({ p50: Type.Integer(), p5: Type.Integer({ description: '95 % of the calls were at least as fast.' }) }),
  ),
});

/** The measurements of a model. */
export const PerformanceView = Type.Object(
  { last_24h: nullable(PerformancePeriod), last_7d: nullable(PerformancePeriod) },
  {
    title: 'ModelPerformance',
    description:
      'Measured every few minutes over the calls of all accounts on this installation; latencies are those of streamed calls. Null if there were fewer than 50 calls. Absent if the operator does not publish it, or nothing was measured.',
  },
);
export type PerformanceView = Static<typeof PerformanceView>;
export type PerformancePeriodView = Static<typeof PerformancePeriod>;

/** A model in GET /v1/catalog. */
export const CatalogModel = Type.Object(
  {
    ...ModelView.properties,
    performance: Type.Optional(PerformanceView),
    available: Type.Boolean({ description: 'Whether the model is priced, not paused, and served by a configured upstream.' }),
  },
  { title: 'CatalogModel' },
);
export type CatalogModel = Static<typeof CatalogModel>;

/** The body of GET /v1/catalog. */
export const Catalog = Type.Object({ object: Type.Literal('list'), data: Type.Array(CatalogModel) }, { title: 'Catalog' });
export type Catalog = Static<typeof Catalog>;
