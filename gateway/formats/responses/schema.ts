// The responses format as schemas: what a request may contain.
import { Type } from 'typebox';
import { redirecting } from '#rules/wire/request-fields.js';
import {
  elseUnsupported,
  ignored,
  ignoredAs,
  messagesMax,
  Moderation,
  nativeOnly,
  optional,
  passedOn,
  refused,
  Tokens,
  unknownKind,
  type ValueOf,
} from '../requests/fields.js';
import { NameForm, toolsMax } from '../requests/openai-fields.js';
import { InputItem } from './item-schema.js';
import { ToolChoiceParam, ToolParam } from './tool-schema.js';

const JsonSchemaForm = Type.Object({
  type: Type.Literal('json_schema'),
  name: NameForm,
  description: optional(Type.String()),
  schema: Type.Object({}, { description: 'A JSON Schema.' }),
  strict: optional(Type.Boolean()),
});
export const TextConfig = Type.Object({
  format: optional(
    Type.Union([
      Type.Object({ type: Type.Literal('text') }),
      Type.Object({ type: Type.Literal('json_object') }),
      JsonSchemaForm,
      unknownKind(['text', 'json_object', 'json_schema']),
    ]),
  ),
  verbosity: optional(Type.String({ description: 'low, medium or high.' }), nativeOnly),
});
export const ReasoningConfig = Type.Object({
  effort: optional(Type.String({ minLength: 1, description: 'none, minimal, low, medium, high, xhigh or max.' })),
  summary: optional(Type.String({ description: 'auto, concise or detailed. A summary is returned whenever the upstream has one.' })),
  generate_summary: optional(Type.String({ description: 'Deprecated; the previous name of summary.' })),
  mode: optional(Type.Literal('standard', elseUnsupported('only "standard" has a price; leave it out'))),
  ...passedOn('context'),
});

const noSearch =
  'web search by the vendor is not supported here, because it costs more than tokens; send the tool web_search, which works for models with a price for it';
/** Fields that change the price, or that select another model, account or number of answers; without max_output_tokens, which is this format's own cap. */
const redirects = redirecting.filter(
  (name): name is Exclude<typeof name, 'max_output_tokens' | 'previous_response_id' | 'conversation'> =>
    !['max_output_tokens', 'previous_response_id', 'conversation'].includes(name),
);

/** The body of POST /v1/responses. Other fields reach upstreams of this format that publish or allow them. */
export const ResponseRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'A catalog id, see GET /v1/models.' }),
    input: Type.Union([Type.String({ minLength: 1 }), Type.Array(InputItem, { minItems: 1, maxItems: messagesMax })]),
    instructions: optional(Type.String()),
    max_output_tokens: optional(Tokens),
    stream: optional(Type.Boolean()),
    stream_options: optional(Type.Object({ ...ignored('include_obfuscation') })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    tools: optional(Type.Array(ToolParam, { maxItems: toolsMax })),
    tool_choice: optional(ToolChoiceParam),
    parallel_tool_calls: optional(Type.Boolean()),
    text: optional(TextConfig),
    reasoning: optional(ReasoningConfig),
    include: optional(
      Type.Array(Type.String(), {
        description: 'reasoning.encrypted_content; other values require a model that an upstream of this format serves.',
      }),
    ),
    top_logprobs: optional(
      Type.Integer({ minimum: 0, maximum: 20, description: 'Requires a model that an upstream of this format serves.' }),
      nativeOnly,
    ),
    truncation: optional(Type.String({ description: 'auto or disabled.' }), nativeOnly),
    metadata: optional(
      Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 16, propertyNames: { maxLength: 64 } }),
      nativeOnly,
    ),
    prompt_cache_key: optional(Type.String({ description: 'Sent upstream only as a SHA-256.' }), nativeOnly),
    user: optional(Type.String({ description: 'Sent upstream only as a SHA-256.' })),
    safety_identifier: optional(Type.String({ description: 'Sent upstream only as a SHA-256; ignored if user is set.' })),
    store: optional(
      Type.Boolean({
        description:
          'True by default: the answer is stored for a time, if this gateway stores answers. "store" in the answer says whether it is stored.',
      }),
    ),
    previous_response_id: optional(Type.String({ minLength: 1, description: 'A stored answer that this request continues.' })),
    background: optional(Type.Literal(false, elseUnsupported('answers are not generated in the background; use "stream": true'))),
    ...refused({
      conversation:
        'conversation objects are not supported; send previous_response_id if this gateway stores responses, or the whole conversation in input',
      prompt: 'templates are stored in a vendor account; send their text as instructions and input',
      plugins: 'plugins are not supported, because the vendor bills more than tokens for them; leave it out',
      search_parameters: noSearch,
      web_search_options: noSearch,
      enable_search: noSearch,
      context_management: 'compaction is not supported, because its tokens are not in the usage; send a shorter conversation',
    }),
    ...passedOn('max_tool_calls', 'prompt_cache_options', 'prompt_cache_retention'),
    // These change the price, or belong to the account at the vendor.
    moderation: optional(Moderation, ignoredAs),
    ...ignored('service_tier', 'access_programs', 'image'),
    ...ignored(...redirects, 'max_tokens', 'max_completion_tokens', 'n', 'container', 'inference_geo', 'speed', 'thread'),
  },
  { title: 'ResponseRequest' },
);

/** A validated body of POST /v1/responses. */
export type ResponseRequest = ValueOf<typeof ResponseRequest>;
