// The schemas of GET /v1/key, GET /v1/usage/{request id}, the probes and every error.
import { Type } from 'typebox';
import { keyStateWords } from '#rules/keys/key-state-words.js';

/** The possible outcomes of an attempt at an upstream. */
export const attemptOutcomes = ['answered', 'broke_off', 'failed', 'abandoned'] as const;
/** The possible outcomes of a call (docs/charging.md). */
export const outcomes = [
  'completed',
  'max_tokens',
  'client_disconnected',
  'rejected',
  'upstream_error_before_output',
  'upstream_error_after_output',
  'timeout',
  'gateway_lost',
  'gateway_error',
] as const;
/** Where token counts come from. */
const usageSources = ['reported', 'estimated'] as const;

const Usd = Type.String({ description: 'Decimal USD, exact.', examples: ['1.5'] });
const Count = Type.Integer({ minimum: 0 });
const Time = Type.String({ description: 'RFC 3339.' });
const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()]);

const LimitOrDefault = nullable(Count);
const KeyRateLimits = Type.Object(
  { requests_per_minute: LimitOrDefault, tokens_per_minute: LimitOrDefault, concurrent_calls: LimitOrDefault },
  { description: 'null: the default of the installation; 0: no limit.' },
);

/** The body of GET /v1/key. */
export const KeyView = Type.Object(
  {
    object: Type.Literal('key'),
    id: Type.String(),
    name: Type.String(),
    last_four: Type.String(),
    account_id: Type.String(),
    project: Type.Object(
      {
        id: Type.String(),
        name: Type.String(),
        models: nullable(Type.Array(Type.String(), { description: 'null: all current and future models.' })),
        rate_limits: KeyRateLimits,
      },
      { description: 'A call must be permitted by both the key and its project, and counts towards the limits of both.' },
    ),
    state: Type.Enum(keyStateWords, {
      description: 'Calls are served while it is active or rotating (previous secrets remain valid).',
    }),
    models: nullable(Type.Array(Type.String(), { description: 'null: all current and future models.' })),
    expires_at: nullable(Time),
    limit_usd: nullable(Usd),
    spent_usd: Usd,
    held_usd: Usd,
    remaining_usd: nullable(Usd),
    rate_limits: KeyRateLimits,
    budgets: Type.Array(
      Type.Object({
        scope: Type.Enum(['key', 'project', 'account']),
        period: Type.Enum(['lifetime', 'month', 'week', 'day']),
        limit_usd: Usd,
        soft: Type.Boolean({ description: 'Whether calls are admitted even when the budget is spent, so that only alerts are sent.' }),
        spent_usd: Usd,
        held_usd: Usd,
        left_usd: Usd,
        resets_at: nullable(Time),
      }),
      { description: 'The budgets of the key, its project and its account. Each that is not soft can refuse a call.' },
    ),
    balance: Type.Object({ credited_usd: Usd, spent_usd: Usd, held_usd: Usd, available_usd: Usd }),
  },
  { title: 'Key' },
);

/** A usage record in lists. */
export const UsageRecordView = Type.Object(
  {
    object: Type.Literal('usage_record'),
    request_id: Type.String(),
    account_id: Type.String(),
    project_id: Type.String({ description: 'The project to which the key belonged at that time.' }),
    key_id: Type.String(),
    model: Type.String({ description: 'The model that was used; the price is that of this model.' }),
    requested_model: Type.String({ description: "Differs from `model` if the project's cheaper model was used." }),
    fallback_reason: nullable(
      Type.Object(
        { budget_id: Type.String(), spent_percent: Count },
        { description: "The project's budget that caused the switch to the cheaper model, and how much of it was spent." },
      ),
    ),
    format: Type.String({
      description: 'The API format of the call, or the name of the internal product that recorded it.',
      examples: ['chat-completions', 'messages', 'responses', 'embeddings'],
    }),
    stream: Type.Boolean(),
    started_at: Time,
    first_output_ms: nullable(Count),
    duration_ms: Count,
    outcome: Type.Enum(outcomes),
    outcome_detail: nullable(Type.String()),
    usage_source: Type.Enum(usageSources),
    quarantined: Type.Boolean({ description: 'Whether the upstream reported implausible figures, which were not used.' }),
    tokens: Type.Object({
      input: Count,
      cache_read: Count,
      cache_write_5m: Count,
      cache_write_1h: Count,
      output: Count,
      reasoning: Count,
    }),
    units: Type.Array(Type.Object({ unit: Type.String(), quantity: Count }), {
      description: 'What was used in units other than tokens. If requests have a price, a call that is charged counts as one.',
    }),
    price_version: nullable(Type.String()),
    line_items: Type.Array(
      Type.Object(
        {
          unit: Type.String({
            description: 'A class of tokens (input, cache_read, cache_write_5m, cache_write_1h, output, reasoning) or another unit.',
            examples: ['input', 'request', 'web_search'],
          }),
          quantity: Count,
          price_usd: Usd,
          per: Type.Integer({ description: 'The quantity that the price is for: 1000000 for tokens, otherwise 1.' }),
          amount_usd: Usd,
        },
        { description: 'amount = quantity × price ÷ per, rounded up to the nano-dollar.' },
      ),
    ),
    charge_usd: Type.String({ description: 'The sum of the line items, in decimal USD.' }),
    held_usd: Usd,
    output_cap_tokens: Count,
    settlement: nullable(Type.Object({ captured_usd: Usd, shortfall_usd: Usd, settled_at: Time })),
    trace_id: nullable(Type.String()),
    client_request_id: nullable(Type.String()),
  },
  { title: 'UsageRecord' },
);

/** The fields of one attempt at an upstream that are shown to every user who can see the record. */
export const attemptFields = {
  number: Type.Integer({ minimum: 1 }),
  started_at: Time,
  duration_ms: Type.Integer({ minimum: 0, description: 'For the last attempt, the time until the call ended.' }),
  outcome: Type.Enum(attemptOutcomes, {
    description:
      'In this order: it returned the answer; its answer broke off; it failed before it answered; the call ended before any of these.',
  }),
  reason: nullable(Type.String({ description: 'Why the attempt failed: a reason from the list of errors.' })),
};

/** Describes the attempts in a single record. */
export const attemptsMean =
  'The upstreams that were tried, in order. Empty if none had answered or failed when the call ended, or if the call was made before attempts were recorded.';

/** The schema of the state of a call's logged prompt and answer. */
export const PromptLogState = nullable(
  Type.Enum(['pending', 'kept', 'truncated', 'overloaded', 'full', 'replaced', 'lost'], {
    description:
      'Whether the prompt and the answer were logged, if the project logs them (docs/prompt-log.md). Null: it does not, or they have been deleted.',
  }),
);

/** The body of GET /v1/usage/{request id}. */
export const UsageRecordAlone = Type.Object(
  {
    ...UsageRecordView.properties,
    attempts: Type.Array(Type.Object(attemptFields), { description: attemptsMean }),
    prompt_log: PromptLogState,
  },
  { title: 'UsageRecord' },
);

/** The endpoints that can be called with a platform key. */
const endpoints = ['chat-completions', 'messages', 'responses', 'embeddings', 'count-tokens'] as const;

/** A refused call: the other body of GET /v1/usage/{request id}. */
export const RefusalView = Type.Object(
  {
    object: Type.Literal('refusal'),
    request_id: Type.String(),
    account_id: Type.String(),
    project_id: Type.String({ description: 'The project to which the key belonged at that time.' }),
    key_id: Type.String(),
    model: nullable(Type.String({ description: 'The id in the catalog; null if the catalog has no such model.' })),
    requested_model: nullable(
      Type.String({ description: 'The model as the caller named it. Null if the call was refused before its body was read.' }),
    ),
    endpoint: Type.String({ examples: [...endpoints] }),
    refused_at: Time,
    status: Type.Integer({ description: 'The status of the response.' }),
    reason: Type.String({ description: 'As in the error body: one of a closed list.' }),
    message: nullable(Type.String({ description: 'As in the error body; null if it could contain text of the request.' })),
    param: nullable(Type.String({ description: 'The invalid field.' })),
    figures: Type.Record(Type.String(), Type.String(), {
      description:
        'The figures at the time of the call, as in the error body, for example what was needed and available. Amounts are decimal USD.',
    }),
    retry_after_ms: nullable(Count),
    charge_usd: Type.Literal('0', { description: 'A refused call is free.' }),
    trace_id: nullable(Type.String()),
    client_request_id: nullable(Type.String()),
  },
  { title: 'Refusal' },
);

/** The body of an error, in any format. */
export const ErrorBody = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object(
      {
        type: Type.String({ description: 'The error type of the format that was called.' }),
        message: Type.String({ description: 'What is wrong and how to fix it.' }),
        code: nullable(Type.String()),
        param: nullable(Type.String({ description: 'The invalid field.' })),
        reason: Type.String({ description: 'One of a closed list; the same in all formats.' }),
        available: Type.Optional(Usd),
        held: Type.Optional(Usd),
        needed: Type.Optional(Usd),
        limit: Type.Optional(Usd),
        spent: Type.Optional(Usd),
        details: Type.Optional(
          Type.Object({
            error_code: Type.String(),
            unsupported: Type.Optional(Type.Array(Type.String())),
            max_side_length_pixels: Type.Optional(Type.Integer()),
            paths: Type.Optional(Type.Array(Type.String())),
          }),
        ),
      },
      { additionalProperties: true },
    ),
    request_id: Type.String(),
  },
  { title: 'Error' },
);

/** The body of GET /livez. */
export const Health = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' });

/** The body of POST /v1/messages/count_tokens. */
export const TokenCount = Type.Object({ input_tokens: Count }, { title: 'TokenCount' });
