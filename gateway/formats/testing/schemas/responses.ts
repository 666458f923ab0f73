// The answers of the responses format.
import {
  type JsonSchema,
  anyArray,
  anyObject,
  boolean,
  count,
  filled,
  integer,
  list,
  none,
  nullable,
  number,
  object,
  oneOf,
  only,
  text,
  variants,
} from './json-schema.js';

const itemId = { type: 'string', minLength: 1, maxLength: 512 };
const inItem = { item_id: itemId, output_index: count };
const inPart = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };

const itemStatus = oneOf('in_progress', 'completed', 'incomplete');

const part = variants('type', {
  output_text: object({ text, annotations: anyArray, logprobs: anyArray }),
  refusal: object({ refusal: text }),
});

const summary = object({ type: only('summary_text'), text });

const reasoningText = object({ type: only('reasoning_text'), text });

const item = variants(
  'type',
  {
    message: object({ status: itemStatus, role: only('assistant'), content: list(part) }),
    reasoning: object({ summary: list(summary) }, { content: list(reasoningText), encrypted_content: nullable(text) }),
    function_call: object({ status: itemStatus, call_id: filled, name: filled, arguments: text }, { namespace: text }),
    custom_tool_call: object({ call_id: filled, name: filled, input: text }, { namespace: text }),
  },
  { id: itemId },
);

const usage = object({
  input_tokens: count,
  input_tokens_details: object({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: object({ reasoning_tokens: count }),
  total_tokens: count,
});

/**
 * The answer of POST /v1/responses, after the vendor's published types. It has the required fields of the library's type Response, except output_text and
 * access_programs, which the library and the account add.
 */
export const response = variants(
  'status',
  {
    in_progress: {},
    completed: object({}, { error: none, incomplete_details: none, usage: anyObject }),
    incomplete: object({}, { error: none, incomplete_details: anyObject, usage: anyObject }),
    failed: object({}, { error: anyObject }),
  },
  {
    id: { type: 'string', pattern: '^resp_' },
    object: only('response'),
    created_at: integer,
    model: filled,
    error: nullable(object({ code: oneOf('server_error', 'rate_limit_exceeded'), message: filled })),
    incomplete_details: nullable(object({ reason: oneOf('max_output_tokens', 'max_messages', 'content_filter', 'steered') })),
    instructions: nullable(text),
    metadata: anyObject,
    output: list(item),
    parallel_tool_calls: boolean,
    temperature: nullable(number),
    tool_choice: {},
    tools: anyArray,
    top_p: nullable(number),
    store: boolean,
    usage: nullable(usage),
  },
  { store_failure: object({ code: {}, message: {} }) },
);

const responseThat = (status: string): JsonSchema => ({ allOf: [response, object({}, { status: only(status) })] });

/** The data of a frame of a streamed answer of POST /v1/responses, after the vendor's published types. */
export const responseStreamEvent = variants(
  'type',
  {
    'response.created': object({
      response: { allOf: [response, object({}, { status: only('in_progress'), output: { type: 'array', maxItems: 0 } })] },
    }),
    'response.in_progress': object({ response }),
    'response.completed': object({ response: responseThat('completed') }),
    'response.incomplete': object({ response: responseThat('incomplete') }),
    'response.failed': object({ response: responseThat('failed') }),
    'response.output_item.added': object({ output_index: count, item }),
    'response.output_item.done': object({ output_index: count, item }),
    'response.content_part.added': object({ ...inPart, part: object({ type: {} }) }),
    'response.content_part.done': object({ ...inPart, part: object({ type: {} }) }),
    'response.output_text.delta': object({ ...inPart, delta: text, logprobs: anyArray }),
    'response.output_text.done': object({ ...inPart, text, logprobs: anyArray }),
    'response.refusal.delta': object({ ...inPart, delta: text }),
    'response.refusal.done': object({ ...inPart, refusal: text }),
    'response.reasoning_summary_part.added': object({ ...inSummary, part: summary }),
    'response.reasoning_summary_part.done': object({ ...inSummary, part: summary }),
    'response.reasoning_summary_text.delta': object({ ...inSummary, delta: text }),
    'response.reasoning_summary_text.done': object({ ...inSummary, text }),
    'response.reasoning_text.delta': object({ ...inPart, delta: text }),
    'response.reasoning_text.done': object({ ...inPart, text }),
    'response.function_call_arguments.delta': object({ ...inItem, delta: text }),
    'response.function_call_arguments.done': object({ ...inItem, arguments: text, name: text }),
    'response.custom_tool_call_input.delta': object({ ...inItem, delta: text }),
    'response.custom_tool_call_input.done': object({ ...inItem, input: text }),
    error: object({ code: nullable(text), message: filled, param: nullable(text) }),
  },
  { sequence_number: count },
);
