// The chat-completions format as schemas: what a request may hold.
import { Type } from 'typebox';
import { elseUnsupported, ignored, messagesMax, optional, refused, Tokens, type ValueOf } from '../fields.js';

const textOnly = elseUnsupported('this type of content is not supported yet; send text');

const TextPart = Type.Object({ type: Type.Literal('text', textOnly), text: Type.String(), ...ignored('cache_control', 'prompt_cache_breakpoint') });
const RefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() });
const TextContent = Type.Union([Type.String(), Type.Array(TextPart, { minItems: 1 })]);
const AssistantContent = Type.Union([Type.String(), Type.Array(Type.Union([TextPart, RefusalPart], textOnly), { minItems: 1 })]);

const ToolName = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: '1 to 64 of letters, digits, "_" and "-".' });
const functionsOnly = elseUnsupported('only tools of type "function" are supported');

const ToolCall = Type.Object({
  id: Type.String({ minLength: 1 }),
  type: Type.Optional(Type.Literal('function', functionsOnly)),
  function: Type.Object({ name: Type.String({ minLength: 1 }), arguments: Type.String() }),
});

/** Signed reasoning, replayed so that a vendor who signs can take it up again. */
const ThinkingBlock = Type.Object({
  type: Type.Enum(['thinking', 'redacted_thinking']),
  thinking: Type.Optional(Type.String()),
  signature: optional(Type.String()),
  data: Type.Optional(Type.String()),
});

const SystemMessage = Type.Object({ role: Type.Enum(['system', 'developer']), content: TextContent, ...ignored('name') });
const UserMessage = Type.Object({ role: Type.Literal('user'), content: TextContent, ...ignored('name') });
const AssistantMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: optional(AssistantContent),
  refusal: optional(Type.String()),
  tool_calls: optional(Type.Array(ToolCall)),
  reasoning_content: optional(Type.String({ description: 'Reasoning of an earlier answer, for upstreams that want it back.' })),
  thinking_blocks: optional(Type.Array(ThinkingBlock)),
  ...refused({ function_call: 'functions are deprecated; use tool_calls', audio: 'audio is not supported yet; send text' }),
  ...ignored('name'),
});
const ToolMessage = Type.Object({ role: Type.Literal('tool'), content: TextContent, tool_call_id: Type.String({ minLength: 1 }), ...ignored('name') });

const Message = Type.Union(
  [SystemMessage, UserMessage, AssistantMessage, ToolMessage],
  elseUnsupported('this role is not supported; use system, developer, user, assistant or tool'),
);

const Tool = Type.Object({
  type: Type.Literal('function', functionsOnly),
  function: Type.Object({
    name: ToolName,
    description: optional(Type.String()),
    parameters: optional(Type.Object({}, { description: 'JSON Schema of the arguments; absent: none.' })),
    strict: optional(Type.Boolean()),
  }),
});
const NamedTool = Type.Object({ type: Type.Literal('function'), function: Type.Object({ name: Type.String({ minLength: 1 }) }) });
const AllowedTools = Type.Object({
  type: Type.Literal('allowed_tools'),
  allowed_tools: Type.Object({ mode: Type.Enum(['auto', 'required']), tools: Type.Array(NamedTool, { minItems: 1 }) }),
});
const ToolChoice = Type.Union([Type.Enum(['none', 'auto', 'required']), NamedTool, AllowedTools], functionsOnly);

const notBlocked = Type.Optional(
  Type.Object({ mode: Type.Optional(Type.Literal('score', elseUnsupported('blocking moderation is not supported; leave it out'))) }),
);

/** The body of POST /v1/chat/completions. Fields beyond these are accepted without effect. */
export const ChatCompletionRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'A catalog id, see GET /v1/models.' }),
    messages: Type.Array(Message, { minItems: 1, maxItems: messagesMax }),
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
    tools: optional(Type.Array(Tool, { maxItems: 128 })),
    tool_choice: optional(ToolChoice),
    parallel_tool_calls: optional(Type.Boolean()),
    reasoning_effort: optional(Type.Enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])),
    user: optional(Type.String({ description: 'Passed on as a SHA-256 only.' })),
    safety_identifier: optional(Type.String({ description: 'Passed on as a SHA-256 only, unless user is given.' })),
    n: optional(Type.Literal(1, elseUnsupported('only 1 answer a call is supported; call once for each answer'))),
    logprobs: optional(Type.Literal(false, elseUnsupported('log probabilities are not supported; leave it out'))),
    top_logprobs: optional(Type.Literal(0, elseUnsupported('log probabilities are not supported; leave it out'))),
    logit_bias: optional(Type.Object({}, { maxProperties: 0, ...elseUnsupported('a bias on tokens is not supported; leave it out') })),
    response_format: optional(
      Type.Object({ type: Type.Literal('text', elseUnsupported('structured output is not supported yet; use "text" or leave it out')) }),
    ),
    modalities: optional(Type.Array(Type.Literal('text', elseUnsupported('only text output is supported')))),
    moderation: optional(Type.Object({ policy: optional(Type.Object({ input: notBlocked, output: notBlocked })) })),
    ...refused({
      audio: 'audio output is not supported; leave it out',
      functions: 'functions are deprecated; use tools',
      function_call: 'functions are deprecated; use tool_choice',
      web_search_options: 'web search is not supported; leave it out',
    }),
    ...ignored(
      'metadata',
      'prediction',
      'prompt_cache_key',
      'prompt_cache_options',
      'prompt_cache_retention',
      'service_tier',
      'store',
      'verbosity',
    ),
  },
  { title: 'ChatCompletionRequest' },
);

/** A validated body of POST /v1/chat/completions. */
export type ChatCompletionRequest = ValueOf<typeof ChatCompletionRequest>;
export type ChatMessage = ChatCompletionRequest['messages'][number];
export type ChatTool = ValueOf<typeof Tool>;
export type ChatToolChoice = ValueOf<typeof ToolChoice>;
