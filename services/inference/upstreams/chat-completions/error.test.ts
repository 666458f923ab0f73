import { describe, expect, it } from '@jest/globals';
import { errorOf, frameError, responseError } from './error.js';

const response = (status: number, body: unknown) =>
  responseError(status, {}, typeof body === 'string' ? body : JSON.stringify(body), 0, 'up-model-1');

describe('an error body of a chat-completions server', () => {
  it.each([
    [
      'OpenAI',
      { error: { message: 'bad value', type: 'invalid_request_error', param: 'temperature', code: 'invalid_value' } },
      'bad value',
    ],
    ['a text alone', { error: 'bad value' }, 'bad value'],
    [
      'vLLM before its version 0.10',
      { object: 'error', message: 'bad value', type: 'BadRequestError', param: null, code: 400 },
      'bad value',
    ],
    ['Hugging Face', { error: 'bad value', error_type: 'validation' }, 'bad value'],
    ['FastAPI', { detail: [{ loc: ['body', 'messages', 0], msg: 'Field required', type: 'missing' }] }, 'messages.0: Field required'],
    [
      'Mistral',
      {
        object: 'error',
        message: { detail: [{ loc: ['body', 'top_k'], msg: 'Extra inputs are not permitted' }] },
        type: 'invalid_request_error',
      },
      'top_k: Extra inputs are not permitted',
    ],
    ['a bare message', { message: 'bad value' }, 'bad value'],
    [
      'OpenRouter',
      { error: { message: 'Provider returned error', code: 400, metadata: { raw: '{"error":{"message":"bad value"}}' } } },
      'bad value',
    ],
    ['Google', [{ error: { code: 400, message: 'bad value', status: 'INVALID_ARGUMENT' } }], 'bad value'],
    ['a proxy', '<html>nginx</html>', 'The upstream refused the request with status 400.'],
  ])('in the form of %s is relayed', (_server, body, text) => {
    expect(response(400, body)).toMatchObject({ reason: 'upstream_rejected', message: text });
  });

  it.each([
    [
      'llama.cpp',
      { error: { code: 400, message: 'the request exceeds the available context size', type: 'exceed_context_size_error', n_ctx: 4096 } },
    ],
    [
      'Groq',
      {
        error: {
          message: 'Please reduce the length of the messages or completion.',
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'a provider behind OpenRouter',
      { error: { message: 'Provider returned error', code: 400, metadata: { raw: '{"error":{"message":"prompt is too long: 9 > 8"}}' } } },
    ],
    [
      'Google',
      [
        {
          error: {
            code: 400,
            message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
    ],
  ])('in the form of %s is recognised as a prompt that is too long', (_server, body) => {
    expect(response(400, body).reason).toBe('context_length_exceeded');
  });

  it.each([
    [
      'OpenAI',
      400,
      { error: { message: 'Rejected.', type: 'invalid_request_error', param: null, code: 'content_policy_violation' } },
      { code: 'content_policy_violation' },
    ],
    [
      'Azure',
      400,
      {
        error: {
          message: 'Filtered.',
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation' },
        },
      },
      { code: 'content_filter', param: 'prompt' },
    ],
    [
      'OpenRouter',
      403,
      { error: { code: 403, message: 'This model requires moderation. Your input was flagged for "x".', metadata: { reasons: ['x'] } } },
      { code: 'content_filter' },
    ],
  ])('of the content filter of %s belongs to the caller, with its code', (_server, status, body, details) => {
    expect(response(status, body)).toMatchObject({ reason: 'upstream_rejected', details });
    expect(response(status, body).details).toEqual(details);
  });

  it("distinguishes Google's limit of a minute from funds that are used up", () => {
    const message = 'You exceeded your current quota, please check your plan and billing details.';
    const limited = (text: string) => response(429, [{ error: { code: 429, message: text, status: 'RESOURCE_EXHAUSTED' } }]).reason;
    expect(limited(`${message} Please retry in 52.28s.`)).toBe('upstream_rate_limited');
    expect(limited(message)).toBe('upstream_unavailable');
  });

  it('keeps the code and the param of a refusal if they are plain words', () => {
    expect(response(400, { error: { message: 'x', param: 'messages[0].content', code: 'invalid_value' } }).details).toEqual({
      code: 'invalid_value',
      param: 'messages[0].content',
    });
    expect(response(400, { error: { message: 'x', param: 'see <a href>', code: 17 } }).details).toEqual({});
    expect(response(401, { error: { message: 'x', code: 'invalid_api_key' } }).details).toEqual({});
  });

  it('does not name the model of the upstream', () => {
    expect(response(400, { error: { message: 'up-model-1 takes no tools' } }).message).toBe('the model takes no tools');
    expect(frameError({ type: 'invalid_request_error', message: 'up-model-1 takes no tools' }, 'up-model-1').message).toBe(
      'the model takes no tools',
    );
  });
});

describe('a payload of a stream', () => {
  it.each([
    [{ error: { message: 'Overloaded', type: 'overloaded_error' } }, 'upstream_overloaded'],
    [{ error: { code: 429, message: 'slow' } }, 'upstream_rate_limited'],
    [{ error: { code: '503', message: 'x' } }, 'upstream_overloaded'],
    [{ error: { message: 'The maximum context length is 8 tokens.' } }, 'context_length_exceeded'],
    [{ error: { message: 'no', code: 'content_filter' } }, 'upstream_rejected'],
    [{ error: 'plain text' }, 'upstream_failed'],
    [{ error: {} }, 'upstream_failed'],
    [{ object: 'error', message: 'bad', type: 'BadRequestError', code: 400 }, 'upstream_rejected'],
    [{ type: 'error', message: 'x' }, 'upstream_failed'],
    [{ message: 'x', code: 401 }, 'upstream_unavailable'],
  ])('%j is an error', (payload, reason) => {
    expect(frameError(errorOf(payload), 'm').reason).toBe(reason);
  });

  it.each([[{ choices: [], error: null }], [{ error: '' }], [{ choices: [], message: 'x' }], [{ type: 'ping' }], [{}]])(
    '%j is not an error',
    (payload) => {
      expect(errorOf(payload)).toBeUndefined();
    },
  );
});
