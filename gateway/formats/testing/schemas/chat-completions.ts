// The answers of the chat-completions format.
import { count, filled, integer, list, nullable, number, object, oneOf, only, text, variants } from './json-schema.js';

const logprob = object(
  { token: text, logprob: number, bytes: nullable(list(integer)) },
  { top_logprobs: list(object({ token: text, logprob: number })) },
);

const logprobs = { type: ['object', 'null'], properties: { content: nullable(list(logprob)), refusal: nullable(list(logprob)) } };

const usage = object(
  { prompt_tokens: count, completion_tokens: count, total_tokens: count },
  {
    prompt_tokens_details: object(
      {},
      { cached_tokens: count, cache_write_tokens: count, audio_tokens: count, text_tokens: count, image_tokens: count },
    ),
    completion_tokens_details: object(
      {},
      {
        reasoning_tokens: count,
        audio_tokens: count,
        text_tokens: count,
        accepted_prediction_tokens: count,
        rejected_prediction_tokens: count,
      },
    ),
  },
);

const thinkingBlock = variants('type', {
  thinking: object({ thinking: text, signature: filled }),
  redacted_thinking: object({ data: filled }),
});

const toolCall = variants(
  'type',
  {
    function: object({ function: object({ name: text, arguments: text }) }),
    custom: object({ custom: object({ name: text, input: text }) }),
  },
  { id: filled },
);

/**
 * The whole answer of POST /v1/chat/completions, after the vendor's OpenAPI document; reasoning_content and thinking_blocks are what other servers of the format
 * add.
 */
export const chatCompletion = {
  ...object(
    {
      id: filled,
      object: only('chat.completion'),
      created: integer,
      model: text,
      choices: {
        type: 'array',
        minItems: 1,
        items: object({
          index: count,
          message: object(
            { role: only('assistant'), content: nullable(text), refusal: nullable(text) },
            {
              annotations: list(object({ type: text })),
              reasoning_content: text,
              thinking_blocks: { type: 'array', minItems: 1, items: thinkingBlock },
              tool_calls: { type: 'array', minItems: 1, items: toolCall },
            },
          ),
          finish_reason: oneOf('stop', 'length', 'tool_calls', 'content_filter', 'function_call'),
          logprobs,
        }),
      },
      usage,
    },
    { service_tier: nullable(text), system_fingerprint: nullable(text) },
  ),
  not: { required: ['error'] },
};

const toolCallFragment = {
  ...object(
    { index: count },
    {
      id: filled,
      type: oneOf('function', 'custom'),
      function: object({ arguments: text }, { name: filled }),
      custom: object({ input: text }, { name: filled }),
    },
  ),
  oneOf: [{ required: ['function'] }, { required: ['custom'] }],
};

/**
 * The data of a frame of a streamed answer of POST /v1/chat/completions, after the vendor's OpenAPI document. ../check-chat-completions.ts has the rules
 * between frames.
 */
export const chatCompletionChunk = {
  ...object(
    {
      id: filled,
      object: only('chat.completion.chunk'),
      created: integer,
      model: text,
      choices: list(
        object(
          {
            index: count,
            delta: object(
              {},
              {
                role: only('assistant'),
                content: nullable(text),
                refusal: nullable(text),
                reasoning_content: text,
                annotations: list(object({ type: text })),
                thinking_blocks: { type: 'array', minItems: 1, items: thinkingBlock },
                tool_calls: { type: 'array', minItems: 1, items: toolCallFragment },
              },
            ),
            finish_reason: oneOf('stop', 'length', 'tool_calls', 'content_filter', 'function_call', null),
          },
          { logprobs },
        ),
      ),
    },
    { service_tier: nullable(text), system_fingerprint: nullable(text), usage: nullable(usage) },
  ),
  not: { required: ['error'] },
};

/** The error of the chat-completions format, as a body or in a frame. */
export const chatCompletionError = object({
  error: object({ message: filled, type: filled, param: nullable(text), code: nullable(text) }),
});
