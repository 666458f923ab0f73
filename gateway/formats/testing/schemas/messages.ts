// The answers of the messages format.
import { anyObject, by, count, filled, list, none, nullable, object, oneOf, only, text, variants } from './json-schema.js';

const countOrNull = nullable(count);
const toolId = { type: 'string', pattern: '^[A-Za-z0-9_-]+$' };

const contentBlock = variants('type', {
  text: object({ text, citations: nullable(list(object({ type: text }))) }),
  thinking: object({ thinking: text, signature: text }),
  redacted_thinking: object({ data: text }),
  tool_use: object({ id: toolId, name: filled, input: anyObject, caller: object({ type: text }) }),
  server_tool_use: object({ id: toolId, name: text, input: anyObject }),
  web_search_tool_result: {},
  web_fetch_tool_result: {},
  code_execution_tool_result: {},
  bash_code_execution_tool_result: {},
  text_editor_code_execution_tool_result: {},
  tool_search_tool_result: {},
  container_upload: {},
});

const stopReason = oneOf(
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
  null,
);

const stopDetails = {
  type: ['object', 'null'],
  required: ['type'],
  properties: { type: oneOf('refusal') },
  allOf: by('type', {
    refusal: { required: ['category', 'explanation'], properties: { category: nullable(text), explanation: nullable(text) } },
  }),
};

const usage = object({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: countOrNull,
  cache_read_input_tokens: countOrNull,
  cache_creation: nullable(object({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })),
  output_tokens_details: nullable(object({ thinking_tokens: count })),
  server_tool_use: nullable(anyObject),
  service_tier: oneOf('standard', 'priority', 'batch', null),
  inference_geo: nullable(text),
  speed: oneOf('standard', 'fast', null),
});

/** The whole answer of POST /v1/messages, after the vendor's published types. */
export const message = object({
  id: filled,
  type: only('message'),
  role: only('assistant'),
  model: text,
  content: list(contentBlock),
  container: nullable(anyObject),
  diagnostics: nullable(anyObject),
  stop_reason: stopReason,
  stop_sequence: nullable(text),
  stop_details: stopDetails,
  usage,
});

const delta = variants('type', {
  text_delta: object({ text }),
  thinking_delta: object({ thinking: text }),
  signature_delta: object({ signature: text }),
  input_json_delta: object({ partial_json: text }),
  citations_delta: object({ citation: anyObject }),
});

const deltaUsage = object(
  { output_tokens: count },
  {
    input_tokens: countOrNull,
    cache_creation_input_tokens: countOrNull,
    cache_read_input_tokens: countOrNull,
    output_tokens_details: { type: ['object', 'null'], properties: { thinking_tokens: count } },
    server_tool_use: nullable(anyObject),
  },
);

/** The error of the messages format, as a body or in an event. */
export const messageError = object(
  {
    type: only('error'),
    error: object(
      {
        type: oneOf(
          'invalid_request_error',
          'authentication_error',
          'billing_error',
          'permission_error',
          'not_found_error',
          'conflict_error',
          'request_too_large',
          'rate_limit_error',
          'api_error',
          'timeout_error',
          'overloaded_error',
        ),
        message: filled,
      },
      { details: nullable(anyObject) },
    ),
  },
  { request_id: nullable(text) },
);

/** The data of a frame of a streamed answer of POST /v1/messages, after the vendor's published types. Blocks open with all their fields, empty. */
export const messageStreamEvent = variants('type', {
  message_start: object({
    message: { allOf: [message, object({ content: { type: 'array', maxItems: 0 }, stop_reason: none, stop_sequence: none })] },
  }),
  ping: {},
  content_block_start: object({
    index: count,
    content_block: {
      allOf: [
        contentBlock,
        ...by('type', {
          text: object({ text: only('') }),
          thinking: object({ thinking: only(''), signature: only('') }),
          tool_use: object({ input: { type: 'object', maxProperties: 0 } }),
        }),
      ],
    },
  }),
  content_block_delta: object({ index: count, delta }),
  content_block_stop: object({ index: count }),
  message_delta: object({
    delta: object(
      {
        stop_reason: stopReason,
        stop_sequence: nullable(text),
      },
      { stop_details: stopDetails, container: nullable(anyObject) },
    ),
    usage: deltaUsage,
  }),
  message_stop: {},
  error: messageError,
});

/** The answer of POST /v1/messages/count_tokens. */
export const tokenCount = object({ input_tokens: count });
