// The chat-completions format as schemas: what an answer looks like. Other fields that the upstream sends are kept alongside these.
import { Type } from 'typebox';
import type { ValueOf } from '../requests/fields.js';

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()]);
const Count = Type.Integer({ minimum: 0 });

const FunctionCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String({ description: 'JSON as the model wrote it, possibly invalid.' }) }),
});
const CustomCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('custom'),
  custom: Type.Object({ name: Type.String(), input: Type.String() }),
});

const ThinkingBlock = Type.Object(
  {
    type: Type.Enum(['thinking', 'redacted_thinking']),
    thinking: Type.Optional(Type.String()),
    signature: Type.Optional(Type.String()),
    data: Type.Optional(Type.String()),
  },
  { description: 'Reasoning that its vendor signed or sealed, in the form in which it is sent back.' },
);
/** Reasoning that its vendor signed or sealed. */
export type ThinkingBlock = ValueOf<typeof ThinkingBlock>;

const Usage = Type.Object(
  {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Type.Object({ cached_tokens: Count, cache_write_tokens: Count, audio_tokens: Count }),
    completion_tokens_details: Type.Object({
      reasoning_tokens: Count,
      audio_tokens: Count,
      accepted_prediction_tokens: Count,
      rejected_prediction_tokens: Count,
    }),
  },
  { description: 'As recorded; prompt and completion include their parts.' },
);

const FinishReason = Type.String({ description: "stop, length, tool_calls, content_filter, or an upstream's own value." });
const Logprobs = nullable(Type.Object({}));

/** The answer as a whole. */
export const ChatCompletion = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: Type.Integer(),
    model: Type.String(),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        finish_reason: FinishReason,
        logprobs: Logprobs,
        message: Type.Object({
          role: Type.Literal('assistant'),
          content: nullable(Type.String()),
          refusal: nullable(Type.String()),
          annotations: Type.Array(Type.Unknown()),
          reasoning_content: Type.Optional(Type.String()),
          thinking_blocks: Type.Optional(Type.Array(ThinkingBlock)),
          tool_calls: Type.Optional(Type.Array(Type.Union([FunctionCall, CustomCall]))),
        }),
      }),
    ),
    usage: Usage,
  },
  { title: 'ChatCompletion' },
);
export type ChatCompletion = ValueOf<typeof ChatCompletion>;

/** One frame of a streamed answer. */
export const ChatCompletionChunk = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion.chunk'),
    created: Type.Integer(),
    model: Type.String(),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        delta: Type.Object({
          role: Type.Optional(Type.Literal('assistant')),
          content: Type.Optional(nullable(Type.String())),
          refusal: Type.Optional(nullable(Type.String())),
          reasoning_content: Type.Optional(Type.String()),
          thinking_blocks: Type.Optional(Type.Array(ThinkingBlock)),
          tool_calls: Type.Optional(
            Type.Array(
              Type.Object({
                index: Type.Integer(),
                id: Type.Optional(Type.String()),
                type: Type.Optional(Type.Enum(['function', 'custom'])),
                function: Type.Optional(Type.Object({ name: Type.Optional(Type.String()), arguments: Type.String() })),
                custom: Type.Optional(Type.Object({ name: Type.Optional(Type.String()), input: Type.String() })),
              }),
            ),
          ),
        }),
        logprobs: Type.Optional(Logprobs),
        finish_reason: nullable(FinishReason),
      }),
    ),
    usage: Type.Optional(nullable(Usage)),
  },
  { title: 'ChatCompletionChunk' },
);
