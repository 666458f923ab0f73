// The messages format as schemas: what a request may hold, and what an answer looks like.
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

const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const Count = Type.Integer({ minimum: 0 });

const deltaUsageFields = {
  input_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
  output_tokens: Count,
  output_tokens_details: Type.Object({ thinking_tokens: Count }),
  server_tool_use: Type.Null(),
};

/** Token counts as this format tells them: input_tokens is only what was neither read from nor written to a cache. */
export const Usage = Type.Object({
  ...deltaUsageFields,
  cache_creation: Type.Object({ ephemeral_5m_input_tokens: Count, ephemeral_1h_input_tokens: Count }),
  service_tier: Type.Literal('standard'),
  inference_geo: Type.Null(),
  speed: Type.Literal('standard'),
});
export type Usage = ValueOf<typeof Usage>;

const StopReason = Type.Enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal', 'model_context_window_exceeded']);
/** How an answer ended, in this format's words. */
export type StopReasonName = ValueOf<typeof StopReason>;

const endFields = {
  stop_reason: nullable(StopReason),
  stop_sequence: nullable(Type.String()),
  stop_details: nullable(Type.Object({ type: Type.Literal('refusal'), category: Type.Null(), explanation: nullable(Type.String()) })),
};

const ContentBlock = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String(), citations: Type.Null() }),
  Type.Object({ type: Type.Literal('thinking'), thinking: Type.String(), signature: Type.String() }),
  Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() }),
  Type.Object({
    type: Type.Literal('tool_use'),
    id: Type.String(),
    name: Type.String(),
    input: Type.Object({}),
    caller: Type.Object({ type: Type.Literal('direct') }),
  }),
]);
export type ContentBlock = ValueOf<typeof ContentBlock>;

/** The answer as a whole. */
export const MessageAnswer = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String(),
    container: Type.Null(),
    diagnostics: Type.Null(),
    content: Type.Array(ContentBlock),
    ...endFields,
    usage: Usage,
  },
  { title: 'Message' },
);
export type MessageAnswer = ValueOf<typeof MessageAnswer>;

/** What stands after "data: " in each frame of a streamed answer; the frame's event line repeats `type`. */
export const MessageStreamEvent = Type.Union(
  [
    Type.Object({ type: Type.Literal('message_start'), message: MessageAnswer }),
    Type.Object({ type: Type.Literal('ping') }),
    Type.Object({ type: Type.Literal('content_block_start'), index: Count, content_block: ContentBlock }),
    Type.Object({
      type: Type.Literal('content_block_delta'),
      index: Count,
      delta: Type.Union([
        Type.Object({ type: Type.Literal('text_delta'), text: Type.String() }),
        Type.Object({ type: Type.Literal('thinking_delta'), thinking: Type.String() }),
        Type.Object({ type: Type.Literal('signature_delta'), signature: Type.String() }),
        Type.Object({ type: Type.Literal('input_json_delta'), partial_json: Type.String() }),
      ]),
    }),
    Type.Object({ type: Type.Literal('content_block_stop'), index: Count }),
    Type.Object({ type: Type.Literal('message_delta'), delta: Type.Object(endFields), usage: Type.Object(deltaUsageFields) }),
    Type.Object({ type: Type.Literal('message_stop') }),
  ],
  { title: 'MessageStreamEvent' },
);
