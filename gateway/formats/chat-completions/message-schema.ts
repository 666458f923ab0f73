// The messages of a chat-completions request and their parts, as schemas.
import { Type } from 'typebox';
import { elseUnsupported, optional, refused, unknownKind, type ValueOf } from '../requests/fields.js';
import { CacheBreakpoint, noFileIds, RefusalPart } from '../requests/openai-fields.js';

/** How long to cache the prompt up to a mark, in the form that several vendors and gateways share. */
export const CacheControl = Type.Object({ type: optional(Type.String()), ttl: optional(Type.Enum(['5m', '1h'])) });
const marks = { cache_control: optional(CacheControl), prompt_cache_breakpoint: optional(CacheBreakpoint) };

const TextPart = Type.Object({ type: Type.Literal('text'), text: Type.String(), ...marks });
const ImagePart = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Object({
    url: Type.String({
      description: 'An https url, which the vendor fetches, or a data URI with a jpeg, png, gif or webp image in base64.',
    }),
    detail: optional(Type.String({ description: 'auto, low, high or original.' })),
    ...noFileIds,
  }),
  ...marks,
});
const AudioPart = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String({ minLength: 1 }), format: Type.String({ minLength: 1 }), ...noFileIds }),
  ...marks,
});
const FilePart = Type.Object({
  type: Type.Literal('file'),
  file: Type.Object({
    file_data: optional(Type.String({ description: 'A data URI, usually of a PDF or text.' })),
    filename: optional(Type.String()),
    ...noFileIds,
  }),
  ...marks,
});

const TextContent = Type.Union([Type.String(), Type.Array(Type.Union([TextPart, unknownKind(['text'])]), { minItems: 1 })]);
const mediaParts = [TextPart, ImagePart, AudioPart, FilePart, unknownKind(['text', 'image_url', 'input_audio', 'file'])] as const;
const UserContent = Type.Union([Type.String(), Type.Array(Type.Union([...mediaParts]), { minItems: 1 })]);
const ToolContent = Type.Union([Type.String(), Type.Array(Type.Union([...mediaParts]))]);
const AssistantContent = Type.Union([Type.String(), Type.Array(Type.Union([TextPart, RefusalPart, unknownKind(['text', 'refusal'])]))]);

const callId = { id: Type.String({ minLength: 1 }) };
const FunctionCall = Type.Object({
  name: Type.String({ minLength: 1 }),
  arguments: Type.String({ description: 'Unchanged, as the model wrote it.' }),
});
const ToolCall = Type.Union([
  Type.Object({ ...callId, type: Type.Optional(Type.Literal('function')), function: FunctionCall }),
  Type.Object({
    ...callId,
    type: Type.Literal('custom'),
    custom: Type.Object({ name: Type.String({ minLength: 1 }), input: Type.String() }),
  }),
  Type.Object({ ...callId, ...unknownKind(['function', 'custom']).properties }),
]);

/** Signed reasoning, replayed so that the vendor that signed it can continue from it. */
const ThinkingBlock = Type.Object({
  type: Type.String(),
  thinking: optional(Type.String()),
  signature: optional(Type.String()),
  data: optional(Type.String()),
});
/** The same in the form of another gateway (https://openrouter.ai/docs/guides/best-practices/reasoning-tokens). */
const ReasoningDetail = Type.Object({
  type: Type.String(),
  text: optional(Type.String()),
  summary: optional(Type.String()),
  signature: optional(Type.String()),
  data: optional(Type.String()),
  format: optional(Type.String()),
});

const named = { name: optional(Type.String()), cache_control: optional(CacheControl) };
const SystemMessage = Type.Object({ role: Type.Enum(['system', 'developer']), content: TextContent, ...named });
const UserMessage = Type.Object({ role: Type.Literal('user'), content: UserContent, ...named });
const AssistantMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: optional(AssistantContent),
  refusal: optional(Type.String()),
  tool_calls: optional(Type.Array(ToolCall)),
  function_call: optional(FunctionCall, { description: 'Deprecated; becomes one of tool_calls.' }),
  reasoning_content: optional(Type.String({ description: 'Reasoning from an earlier answer, for upstreams that require it.' })),
  reasoning: optional(Type.String({ description: 'Another name for reasoning_content.' })),
  reasoning_details: optional(Type.Array(ReasoningDetail)),
  thinking_blocks: optional(Type.Array(ThinkingBlock)),
  ...refused({ audio: 'it refers to an answer that is stored in a vendor account; send its transcript as content' }),
  ...named,
});
const ToolMessage = Type.Object({
  role: Type.Literal('tool'),
  content: ToolContent,
  tool_call_id: Type.String({ minLength: 1 }),
  ...named,
});
const FunctionMessage = Type.Object(
  {
    role: Type.Literal('function'),
    name: Type.String({ minLength: 1 }),
    content: optional(Type.String()),
    cache_control: optional(CacheControl),
  },
  { description: 'Deprecated; becomes a message of role tool.' },
);

export const ChatMessageParam = Type.Union(
  [SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage],
  elseUnsupported('this role is not supported; use system, developer, user, assistant or tool'),
);

/** A message as callers may send it. */
export type ChatMessageParam = ValueOf<typeof ChatMessageParam>;
/** A message in the current version of the format. */
export type ChatMessage = Exclude<ChatMessageParam, { role: 'function' }>;
export type MessageOf<R extends ChatMessage['role']> = Extract<ChatMessage, { role: R }>;
/** Any part of content that is not a plain string. */
export type ContentPart = Exclude<ValueOf<typeof UserContent>, string>[number] | Exclude<ValueOf<typeof AssistantContent>, string>[number];
