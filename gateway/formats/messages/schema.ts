// The messages format's requests as schemas.
import { Type } from 'typebox';
import { redirecting } from '#rules/wire/request-fields.js';
import { ignored, messagesMax, optional, passedOn, refused, unknownKind, type ValueOf } from '../requests/fields.js';
import { CacheControl, MessageParam, TextBlock } from './block-schema.js';
import { ToolChoiceParam, ToolParam } from './tool-schema.js';

const Thinking = Type.Union([
  Type.Object({
    type: Type.Literal('enabled'),
    budget_tokens: Type.Integer({ minimum: 1024, maximum: 0xffff_ffff }),
    ...passedOn('display'),
  }),
  Type.Object({ type: Type.Literal('adaptive'), ...passedOn('display') }),
  Type.Object({ type: Type.Literal('between_tools'), ...passedOn('display') }),
  Type.Object({ type: Type.Literal('disabled') }),
  unknownKind(['enabled', 'adaptive', 'between_tools', 'disabled']),
]);

const OutputFormat = Type.Union([
  Type.Object({ type: Type.Literal('json_schema'), schema: Type.Object({}) }),
  unknownKind(['json_schema']),
]);

/** The requested effort and form of the answer. */
export const OutputConfig = Type.Object({
  effort: optional(
    Type.String({ minLength: 1, description: 'low, medium, high, xhigh or max; any other word reaches upstreams of this format only.' }),
  ),
  format: optional(OutputFormat),
  ...passedOn('task_budget'),
});

const ofVendorAccount = 'it refers to a vendor account, which callers do not have here; leave it out';

const promptFields = {
  model: Type.String({ minLength: 1, description: 'A catalog id, see GET /v1/models.' }),
  messages: Type.Array(MessageParam, { minItems: 1, maxItems: messagesMax }),
  system: optional(Type.Union([Type.String(), Type.Array(TextBlock)])),
  tools: optional(Type.Array(ToolParam)),
  tool_choice: optional(ToolChoiceParam),
  thinking: optional(Thinking),
  output_config: optional(OutputConfig),
  output_format: optional(OutputFormat, { description: 'Older spelling of output_config.format.' }),
  cache_control: optional(CacheControl, { description: 'Marks the last block that can be cached.' }),
  ...refused({
    mcp_servers: 'MCP servers are not supported; call them from your side and send their tools',
    compaction: 'compaction is not supported; leave it out',
    thread: ofVendorAccount,
    plugins: 'plugins are not supported, because the vendor bills more than tokens for them; leave it out',
    fallbacks: 'fallback models are chosen by the gateway; leave it out',
    fallback_credit_token: ofVendorAccount,
    billing_policy: ofVendorAccount,
  }),
  ...passedOn('context_management'),
  ...ignored('container', 'diagnostics', 'inference_geo', 'service_tier', 'speed'),
  // This format has one answer per call; servers that support several formats may read `n` anyway.
  ...ignored(...redirecting, 'n'),
};

/** The body of POST /v1/messages. Other fields reach upstreams of this format whose operator allows them, and are dropped for others. */
export const MessagesRequest = Type.Object(
  {
    ...promptFields,
    max_tokens: Type.Integer({ minimum: 0, maximum: 0xffff_ffff, description: '0 writes the prompt to the cache and generates nothing.' }),
    stream: optional(Type.Boolean()),
    stop_sequences: optional(Type.Array(Type.String({ minLength: 1 }))),
    temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optional(Type.Integer({ minimum: 0, maximum: 0xffff_ffff })),
    metadata: optional(Type.Object({ user_id: optional(Type.String({ description: 'Sent upstream only as a SHA-256.' })) })),
  },
  { title: 'MessagesRequest' },
);

/** The body of POST /v1/messages/count_tokens. */
export const CountTokensRequest = Type.Object(promptFields, { title: 'CountTokensRequest' });

/** A validated body of POST /v1/messages. */
export type MessagesRequest = ValueOf<typeof MessagesRequest>;
/** A validated body of POST /v1/messages/count_tokens. */
export type CountTokensRequest = ValueOf<typeof CountTokensRequest>;
