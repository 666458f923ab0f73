// The messages format as schemas: what an answer looks like. Other fields that the upstream sends are kept alongside these.
import { type TSchema, Type } from 'typebox';
import type { ValueOf } from '../requests/fields.js';

const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const Count = Type.Integer({ minimum: 0 });

const deltaUsageFields = {
  input_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
  output_tokens: Count,
  output_tokens_details: Type.Object({ thinking_tokens: Count }),
  server_tool_use: nullable(Type.Object({})),
};

const DeltaUsage = Type.Object(deltaUsageFields, { description: 'Totals of the whole message.' });
/** The running totals of message_delta. */
export type DeltaUsage = ValueOf<typeof DeltaUsage>;

const Usage = Type.Object(
  {
    ...deltaUsageFields,
    cache_creation: Type.Object({ ephemeral_5m_input_tokens: Count, ephemeral_1h_input_tokens: Count }),
    service_tier: nullable(Type.String()),
    inference_geo: nullable(Type.String()),
    speed: nullable(Type.String()),
  },
  { description: 'As recorded; input_tokens excludes tokens read from or written to a cache.' },
);
/** Token counts in this format. */
export type Usage = ValueOf<typeof Usage>;

const endFields = {
  stop_reason: nullable(
    Type.String({
      description: "end_turn, max_tokens, stop_sequence, tool_use, refusal, model_context_window_exceeded, or an upstream's own value.",
    }),
  ),
  stop_sequence: nullable(Type.String()),
  stop_details: nullable(Type.Object({})),
};
const EndDelta = Type.Object(endFields);
/** How an answer ended, in this format. */
export type End = ValueOf<typeof EndDelta>;

const ContentBlock = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String(), citations: nullable(Type.Array(Type.Unknown())) }),
  Type.Object({ type: Type.Literal('thinking'), thinking: Type.String(), signature: Type.String() }),
  Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() }),
  Type.Object({
    type: Type.Literal('tool_use'),
    id: Type.String({ pattern: '^[A-Za-z0-9_-]+$' }),
    name: Type.String(),
    input: Type.Object({}),
    caller: Type.Object({ type: Type.String() }),
  }),
  Type.Object(
    { type: Type.String({ pattern: '^(?!(text|thinking|redacted_thinking|tool_use)$)' }) },
    { description: 'A block that only upstreams of this format send, unchanged.' },
  ),
]);

/** The answer as a whole. */
export const MessageAnswer = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String(),
    container: nullable(Type.Object({})),
    diagnostics: nullable(Type.Object({})),
    content: Type.Array(ContentBlock),
    ...endFields,
    usage: Usage,
  },
  { title: 'Message' },
);
export type MessageAnswer = ValueOf<typeof MessageAnswer>;

/** The data of each frame of a streamed answer; the frame's event line repeats `type`. */
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
        Type.Object(
          { type: Type.String({ pattern: '^(?!(text|thinking|signature|input_json)_delta$)' }) },
          { description: 'A delta that only upstreams of this format send, for example citations_delta.' },
        ),
      ]),
    }),
    Type.Object({ type: Type.Literal('content_block_stop'), index: Count }),
    Type.Object({ type: Type.Literal('message_delta'), delta: EndDelta, usage: DeltaUsage }),
    Type.Object({ type: Type.Literal('message_stop') }),
    Type.Object(
      { type: Type.String({ pattern: '^(?!(message_(start|delta|stop)|content_block_(start|delta|stop)|ping)$)' }) },
      { description: 'An event that only upstreams of this format send, unchanged.' },
    ),
  ],
  { title: 'MessageStreamEvent' },
);
