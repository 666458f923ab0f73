// The chat-completions format as schemas: what a request may contain.
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
import { type ChatMessage, ChatMessageParam } from './message-schema.js';
import { FunctionChoiceParam, FunctionParam, ToolChoiceParam, ToolParam } from './tool-schema.js';

const JsonSchemaForm = Type.Object({
  name: NameForm,
  description: optional(Type.String()),
  schema: optional(Type.Object({}, { description: 'A JSON Schema; absent: any object.' })),
  strict: optional(Type.Boolean()),
});
const ResponseFormatParam = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({ type: Type.Literal('json_schema'), json_schema: JsonSchemaForm }),
  unknownKind(['text', 'json_object', 'json_schema']),
]);

const noSearch =
  'web search by the vendor is not supported here, because it costs more than tokens; search in your program and send the results';

/** The body of POST /v1/chat/completions. Other fields reach upstreams of this format that publish or allow them. */
export const ChatCompletionRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'A catalog id, see GET /v1/models.' }),
    messages: Type.Array(ChatMessageParam, { minItems: 1, maxItems: messagesMax }),
    max_completion_tokens: optional(Tokens),
    max_tokens: optional(Tokens),
    stream: optional(Type.Boolean()),
    stream_options: optional(Type.Object({ include_usage: optional(Type.Boolean()), ...ignored('include_obfuscation') })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optional(Type.Integer({ minimum: 0, maximum: 0xffff_ffff })),
    frequency_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
    presence_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
    // The greatest double below 2^63: beyond it an int64 overflows.
    seed: optional(Type.Integer({ minimum: -(2 ** 63), maximum: 2 ** 63 - 1024 })),
    stop: optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
    tools: optional(Type.Array(ToolParam, { maxItems: toolsMax })),
    tool_choice: optional(ToolChoiceParam),
    parallel_tool_calls: optional(Type.Boolean()),
    functions: optional(Type.Array(FunctionParam, { maxItems: toolsMax }), { description: 'Deprecated; become tools.' }),
    function_call: optional(FunctionChoiceParam, { description: 'Deprecated; becomes tool_choice.' }),
    response_format: optional(ResponseFormatParam),
    reasoning_effort: optional(Type.String({ minLength: 1, description: 'none, minimal, low, medium, high, xhigh or max.' })),
    reasoning: Type.Optional(Type.Unknown({ description: '{effort, max_tokens, enabled}; used if there is no reasoning_effort.' })),
    thinking: Type.Optional(
      Type.Unknown({ description: '{type, budget_tokens}; used if there is neither reasoning_effort nor reasoning.' }),
    ),
    user: optional(Type.String({ description: 'Sent upstream only as a SHA-256.' })),
    safety_identifier: optional(Type.String({ description: 'Sent upstream only as a SHA-256; ignored if user is set.' })),
    n: optional(
      Type.Integer({ minimum: 1, maximum: 128, description: 'Values above 1 require a model that an upstream of this format serves.' }),
    ),
    logprobs: optional(Type.Boolean({ description: 'Requires a model that an upstream of this format serves.' })),
    top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20, description: 'Requires logprobs.' })),
    logit_bias: optional(Type.Record(Type.String(), Type.Number({ minimum: -100, maximum: 100 })), nativeOnly),
    metadata: optional(
      Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 16, propertyNames: { maxLength: 64 } }),
      nativeOnly,
    ),
    prompt_cache_key: optional(Type.String({ description: 'Sent upstream only as a SHA-256.' }), nativeOnly),
    modalities: optional(Type.Array(Type.Literal('text', elseUnsupported('only text output is supported')))),
    moderation: optional(Moderation, ignoredAs),
    web_search_options: optional(
      Type.Object(
        {},
        {
          description:
            'A search by the vendor. Requires a model with a price for the unit web_search, served by an upstream of this format.',
        },
      ),
    ),
    enable_search: optional(Type.Literal(false, elseUnsupported(noSearch))),
    ...refused({
      audio: 'audio output is not supported; leave it out',
      search_parameters: noSearch,
      plugins: 'plugins are not supported, because the vendor bills more than tokens for them; leave it out',
    }),
    ...passedOn('verbosity', 'prompt_cache_options', 'prompt_cache_retention'),
    // These change the price.
    ...ignored('service_tier', 'store', 'prediction'),
    ...ignored(...redirecting, 'fallbacks', 'container', 'inference_geo', 'speed', 'thread'),
  },
  { title: 'ChatCompletionRequest' },
);

/** A validated body of POST /v1/chat/completions. */
export type ChatCompletionParams = ValueOf<typeof ChatCompletionRequest>;
/** The same in the current version of the format. */
export type ChatCompletionRequest = Omit<ChatCompletionParams, 'messages' | 'functions' | 'function_call'> & {
  messages: readonly ChatMessage[];
};
