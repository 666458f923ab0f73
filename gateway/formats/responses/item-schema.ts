// The items of a responses request and their parts, as schemas.
import { Type } from 'typebox';
import { optional, unknownKind, type ValueOf } from '../requests/fields.js';
import { CacheBreakpoint, noFileIds, RefusalPart } from '../requests/openai-fields.js';
import { ToolParam } from './tool-schema.js';

const marks = { prompt_cache_breakpoint: optional(CacheBreakpoint) };

const TextPart = Type.Object({ type: Type.Enum(['input_text', 'output_text', 'text', 'summary_text']), text: Type.String(), ...marks });
const ImagePart = Type.Object({
  type: Type.Literal('input_image'),
  image_url: Type.Optional(
    Type.String({ description: 'An https url, which the vendor fetches, or a data URI with a jpeg, png, gif or webp image in base64.' }),
  ),
  detail: optional(Type.String({ description: 'auto, low, high or original.' })),
  ...noFileIds,
  ...marks,
});
const FilePart = Type.Object({
  type: Type.Literal('input_file'),
  file_data: optional(Type.String({ description: 'A data URI, usually of a PDF or text.' })),
  file_url: optional(Type.String({ description: 'An https url, which the vendor fetches.' })),
  filename: optional(Type.String()),
  ...noFileIds,
  ...marks,
});
const knownParts = ['input_text', 'output_text', 'text', 'summary_text', 'refusal', 'input_image', 'input_file'];
const ContentPart = Type.Union([TextPart, RefusalPart, ImagePart, FilePart, unknownKind(knownParts)]);
export type ContentPart = ValueOf<typeof ContentPart>;
const Content = Type.Union([Type.String(), Type.Array(ContentPart)]);
export type Content = ValueOf<typeof Content>;

const MessageItem = Type.Object({
  type: optional(Type.Literal('message')),
  role: Type.Enum(['user', 'assistant', 'system', 'developer']),
  content: Content,
});
export type MessageItem = ValueOf<typeof MessageItem>;

const called = { call_id: Type.String({ minLength: 1 }), name: Type.String({ minLength: 1 }), namespace: optional(Type.String()) };
const FunctionCall = Type.Object({
  type: Type.Literal('function_call'),
  ...called,
  arguments: Type.String({ description: 'Unchanged, as the model wrote it.' }),
});
const CustomCall = Type.Object({ type: Type.Literal('custom_tool_call'), ...called, input: Type.String() });
export type CallItem = ValueOf<typeof FunctionCall> | ValueOf<typeof CustomCall>;

const OutputItem = Type.Object({
  type: Type.Enum(['function_call_output', 'custom_tool_call_output']),
  call_id: Type.String({ minLength: 1 }),
  output: Content,
});
export type OutputItem = ValueOf<typeof OutputItem>;

const ReasoningText = Type.Object({ text: Type.String() });
const ReasoningItem = Type.Object({
  type: Type.Literal('reasoning'),
  id: optional(Type.String()),
  summary: optional(Type.Array(ReasoningText)),
  content: optional(Type.Array(ReasoningText)),
  encrypted_content: optional(Type.String({ description: 'Unchanged, as an answer contained it.' })),
});
export type ReasoningItem = ValueOf<typeof ReasoningItem>;

const AdditionalTools = Type.Object({ type: Type.Literal('additional_tools'), tools: Type.Array(ToolParam) });

const knownItems = [
  'additional_tools',
  'message',
  'function_call',
  'custom_tool_call',
  'function_call_output',
  'custom_tool_call_output',
  'reasoning',
];

export const InputItem = Type.Union([
  MessageItem,
  FunctionCall,
  CustomCall,
  OutputItem,
  ReasoningItem,
  AdditionalTools,
  unknownKind(knownItems),
]);
/** An item of the input. */
export type InputItem = ValueOf<typeof InputItem>;
