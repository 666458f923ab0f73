// The responses format as schemas: what an answer looks like. Other fields that the upstream sends are kept alongside these.
import { Type } from 'typebox';

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()]);
const Count = Type.Integer({ minimum: 0 });
const Status = Type.Enum(['in_progress', 'completed', 'incomplete']);

const OutputText = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(Type.Unknown()),
  logprobs: Type.Array(Type.Unknown()),
});
const Refusal = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() });
const Message = Type.Object({
  id: Type.String(),
  type: Type.Literal('message'),
  status: Status,
  role: Type.Literal('assistant'),
  content: Type.Array(Type.Union([OutputText, Refusal])),
});
const ReasoningItem = Type.Object({
  id: Type.String(),
  type: Type.Literal('reasoning'),
  summary: Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() })),
  content: Type.Optional(Type.Array(Type.Object({ type: Type.Literal('reasoning_text'), text: Type.String() }))),
  encrypted_content: Type.Optional(
    nullable(Type.String({ description: 'Data with which the upstream can restore the reasoning. Send it back unchanged.' })),
  ),
});
const called = { id: Type.String(), status: Status, call_id: Type.String(), name: Type.String(), namespace: Type.Optional(Type.String()) };
const FunctionCall = Type.Object({
  type: Type.Literal('function_call'),
  ...called,
  arguments: Type.String({ description: 'JSON as the model wrote it, possibly invalid.' }),
});
const CustomCall = Type.Object({ type: Type.Literal('custom_tool_call'), ...called, input: Type.String() });
const OtherItem = Type.Object({ id: Type.String(), type: Type.String() }, { description: 'Only from upstreams of this format.' });
const Item = Type.Union([Message, ReasoningItem, FunctionCall, CustomCall, OtherItem]);

const Usage = Type.Object(
  {
    input_tokens: Count,
    input_tokens_details: Type.Object({ cached_tokens: Count, cache_write_tokens: Count }),
    output_tokens: Count,
    output_tokens_details: Type.Object({ reasoning_tokens: Count }),
    total_tokens: Count,
  },
  { description: 'As recorded; input and output include their parts.' },
);

/** The answer as a whole. It also repeats fields of the request, as the vendor does. */
export const ResponseAnswer = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('response'),
    created_at: Type.Integer(),
    status: Type.Enum(['in_progress', 'completed', 'incomplete', 'failed']),
    model: Type.String(),
    error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
    incomplete_details: nullable(
      Type.Object({ reason: Type.String({ description: "max_output_tokens, content_filter, or an upstream's own value." }) }),
    ),
    instructions: nullable(Type.String()),
    metadata: Type.Object({}),
    output: Type.Array(Item),
    parallel_tool_calls: Type.Boolean(),
    store: Type.Boolean({
      description: 'Whether the answer is stored. In a stream, only the value in the last event is final.',
    }),
    store_failure: Type.Optional(
      Type.Object(
        { code: Type.Enum(['limit_reached', 'too_large', 'unavailable', 'expired']), message: Type.String() },
        { description: 'Why the answer is not stored, although the request permitted it.' },
      ),
    ),
    temperature: nullable(Type.Number()),
    text: Type.Object({}),
    tool_choice: Type.Unknown(),
    tools: Type.Array(Type.Unknown()),
    top_p: nullable(Type.Number()),
    usage: nullable(Usage),
  },
  { title: 'Response' },
);

/** One event of a streamed answer. Which of the fields it has depends on its type. */
export const ResponseStreamEvent = Type.Object(
  {
    type: Type.String({ description: 'response.created, response.output_text.delta … response.completed, as the vendor documents them.' }),
    sequence_number: Count,
    response: Type.Optional(ResponseAnswer),
    output_index: Type.Optional(Count),
    item_id: Type.Optional(Type.String()),
    item: Type.Optional(Item),
    content_index: Type.Optional(Count),
    summary_index: Type.Optional(Count),
    part: Type.Optional(Type.Object({ type: Type.String() })),
    delta: Type.Optional(Type.String()),
    text: Type.Optional(Type.String()),
    refusal: Type.Optional(Type.String()),
    arguments: Type.Optional(Type.String()),
    input: Type.Optional(Type.String()),
    code: Type.Optional(nullable(Type.String())),
    message: Type.Optional(Type.String()),
    param: Type.Optional(nullable(Type.String())),
  },
  { title: 'ResponseStreamEvent' },
);

/** The answer of POST /v1/responses/input_tokens. */
export const InputTokens = Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: Count }, { title: 'InputTokens' });

/** The answer of GET /v1/responses/{id}/input_items. */
export const InputItemList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(Type.Object({ id: Type.String(), type: Type.String() })),
    first_id: nullable(Type.String()),
    last_id: nullable(Type.String()),
    has_more: Type.Boolean(),
  },
  { title: 'InputItemList' },
);

/** The answer of DELETE /v1/responses/{id}. */
export const DeletedResponse = Type.Object(
  { id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) },
  { title: 'DeletedResponse' },
);
