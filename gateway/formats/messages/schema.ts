// The messages format as schemas: what a request may hold.
import { type TProperties, type TSchema, Type } from 'typebox';
import { elseUnsupported, ignored, messagesMax, optional, refused, Tokens, type ValueOf } from '../fields.js';

const blockFix = elseUnsupported('this type of content is not supported yet; send text');
const block = <const Kind extends string, Fields extends TProperties>(type: Kind, fields: Fields) =>
  Type.Object({ type: Type.Literal(type, blockFix), ...fields, ...ignored('cache_control') });

const TextBlock = block('text', { text: Type.String(), ...ignored('citations') });
const ToolUseBlock = block('tool_use', {
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  input: Type.Object({}),
});
const ToolReference = block('tool_reference', { tool_name: Type.String() });
const ToolResultBlock = block('tool_result', {
  tool_use_id: Type.String({ minLength: 1 }),
  content: optional(Type.Union([Type.String(), Type.Array(Type.Union([TextBlock, ToolReference], blockFix))])),
  is_error: optional(Type.Boolean()),
});
const ThinkingBlock = block('thinking', { thinking: Type.String(), signature: Type.String() });
const RedactedThinkingBlock = block('redacted_thinking', { data: Type.String() });

const contentOf = <Blocks extends TSchema[]>(...blocks: [...Blocks]) =>
  Type.Union([Type.String(), Type.Array(Type.Union(blocks, blockFix))]);

const Message = Type.Union([
  Type.Object({ role: Type.Literal('user'), content: contentOf(TextBlock, ToolResultBlock) }),
  Type.Object({ role: Type.Literal('assistant'), content: contentOf(TextBlock, ToolUseBlock, ThinkingBlock, RedactedThinkingBlock) }),
  Type.Object({ role: Type.Literal('system'), content: contentOf(TextBlock) }),
]);

const Tool = Type.Object({
  type: optional(Type.Literal('custom', elseUnsupported('built-in and server tools are not supported; describe your own with name and input_schema'))),
  name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,128}$', description: '1 to 128 of letters, digits, "_" and "-".' }),
  description: optional(Type.String()),
  input_schema: Type.Object({ type: Type.Literal('object') }, { description: 'JSON Schema of the arguments.' }),
  strict: optional(Type.Boolean()),
  ...ignored('allowed_callers', 'cache_control', 'defer_loading', 'eager_input_streaming', 'input_examples'),
});

const Parallel = { disable_parallel_tool_use: optional(Type.Boolean()) };
const ToolChoice = Type.Union([
  Type.Object({ type: Type.Literal('auto'), ...Parallel }),
  Type.Object({ type: Type.Literal('any'), ...Parallel }),
  Type.Object({ type: Type.Literal('tool'), name: Type.String({ minLength: 1 }), ...Parallel }),
  Type.Object({ type: Type.Literal('none') }),
]);

const Thinking = Type.Union(
  [
    Type.Object({ type: Type.Literal('enabled'), budget_tokens: Type.Integer({ minimum: 1024, maximum: 0xffff_ffff }), ...ignored('display') }),
    Type.Object({ type: Type.Literal('adaptive'), ...ignored('display') }),
    Type.Object({ type: Type.Literal('disabled') }),
  ],
  elseUnsupported('this kind of thinking is not supported; use adaptive, enabled or disabled'),
);

const noStructure = 'structured output is not supported yet; leave it out';

const promptFields = {
  model: Type.String({ minLength: 1, description: 'A catalog id, see GET /v1/models.' }),
  messages: Type.Array(Message, { minItems: 1, maxItems: messagesMax }),
  system: optional(Type.Union([Type.String(), Type.Array(TextBlock)])),
  tools: optional(Type.Array(Tool)),
  tool_choice: optional(ToolChoice),
  thinking: optional(Thinking),
  output_config: optional(
    Type.Object({
      effort: optional(Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'])),
      ...refused({ format: noStructure }),
      ...ignored('task_budget'),
    }),
  ),
  ...refused({
    output_format: noStructure,
    mcp_servers: 'MCP servers are not supported; call them from your side and send their tools',
    compaction: 'compaction is not supported; leave it out',
    thread: 'it refers to a vendor account, which is not yours here; leave it out',
    fallbacks: 'fallback models are chosen by the gateway; leave it out',
    fallback_credit_token: 'it refers to a vendor account, which is not yours here; leave it out',
    billing_policy: 'it refers to a vendor account, which is not yours here; leave it out',
  }),
  ...ignored('cache_control', 'container', 'context_management', 'diagnostics', 'inference_geo', 'service_tier', 'speed'),
};

/** The body of POST /v1/messages. Fields beyond these are accepted without effect. */
export const MessagesRequest = Type.Object(
  {
    ...promptFields,
    max_tokens: Tokens,
    stream: optional(Type.Boolean()),
    stop_sequences: optional(Type.Array(Type.String({ minLength: 1 }))),
    temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optional(Type.Integer({ minimum: 0, maximum: 0xffff_ffff })),
    metadata: optional(Type.Object({ user_id: optional(Type.String({ description: 'Passed on as a SHA-256 only.' })) })),
  },
  { title: 'MessagesRequest' },
);

/** The body of POST /v1/messages/count_tokens. */
export const CountTokensRequest = Type.Object(promptFields, { title: 'CountTokensRequest' });

/** A validated body of POST /v1/messages. */
export type MessagesRequest = ValueOf<typeof MessagesRequest>;
/** A validated body of POST /v1/messages/count_tokens. */
export type CountTokensRequest = ValueOf<typeof CountTokensRequest>;
export type MessageParam = MessagesRequest['messages'][number];
export type ContentBlockParam = Exclude<MessageParam['content'], string>[number];
