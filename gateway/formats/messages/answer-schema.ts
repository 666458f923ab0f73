// The messages format as schemas: what an answer looks like.
import { type TSchema, Type } from 'typebox';
import type { ValueOf } from '../fields.js';

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
