import { describe, expect, it } from '@jest/globals';
import { responseError as chatError } from './chat-completions/error.js';
import { responseError as messagesError } from './messages/error.js';
import { redact, refusalError, retryAfter } from './upstream-failure.js';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const chat = (status: number, error: unknown) => chatError(status, {}, JSON.stringify({ error }), nowMs, 'm');
const messages = (status: number, error: unknown) =>
  messagesError(status, {}, JSON.stringify({ type: 'error', error }), nowMs, 'claude-opus-5-5');

describe("a chat-completions upstream's refusal", () => {
  it.each([
    [400, { message: 'bad temperature', type: 'invalid_request_error', code: null }, 'upstream_rejected'],
    [413, { message: 'too large' }, 'body_too_large'],
    [
      413,
      {
        message: 'Request too large for model `m` in organization `org_01kgg5588eft` service tier `on_demand` on tokens per minute (TPM)',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
      'upstream_rate_limited',
    ],
    [
      400,
      { message: 'Access denied, please make sure your account is in good standing.', type: 'Arrearage', code: 'Arrearage' },
      'upstream_unavailable',
    ],
    [422, { message: 'unprocessable' }, 'upstream_rejected'],
    [400, { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' }, 'context_length_exceeded'],
    [400, { message: 'The prompt is too long for the context window.' }, 'context_length_exceeded'],
    [401, { message: 'Incorrect API key', code: 'invalid_api_key' }, 'upstream_unavailable'],
    [400, { message: 'API key not valid. Please pass a valid API key.', code: 400 }, 'upstream_unavailable'],
    [402, { message: 'pay' }, 'upstream_unavailable'],
    [403, { message: 'country' }, 'upstream_unavailable'],
    [404, { message: 'no model', code: 'model_not_found' }, 'upstream_unavailable'],
    [429, { message: 'slow', type: 'requests', code: 'rate_limit_exceeded' }, 'upstream_rate_limited'],
    [429, { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' }, 'upstream_unavailable'],
    [500, { message: 'oops' }, 'upstream_failed'],
    [502, 'text', 'upstream_failed'],
    [503, { message: 'overloaded' }, 'upstream_overloaded'],
    [301, undefined, 'upstream_failed'],
  ])('%i %j is %s', (status, error, reason) => {
    expect(chat(status, error).reason).toBe(reason);
  });
});

describe("a messages upstream's refusal", () => {
  it.each([
    [400, { type: 'invalid_request_error', message: 'max_tokens: Field required' }, 'upstream_rejected'],
    [400, { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' }, 'context_length_exceeded'],
    [400, { type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' }, 'upstream_unavailable'],
    [401, { type: 'authentication_error', message: 'invalid x-api-key' }, 'upstream_unavailable'],
    [413, { type: 'request_too_large', message: 'Request exceeds the maximum size' }, 'body_too_large'],
    [
      400,
      { type: 'invalid_request_error', message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' },
      'context_length_exceeded',
    ],
    [400, { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' }, 'upstream_rejected'],
    [400, { type: 'invalid_request_error', message: 'You have reached your specified API usage limits.' }, 'upstream_unavailable'],
    [402, { type: 'billing_error', message: 'pay' }, 'upstream_unavailable'],
    [404, { type: 'not_found_error', message: 'model: claude-opus-5-5' }, 'upstream_unavailable'],
    [429, { type: 'rate_limit_error', message: 'slow' }, 'upstream_rate_limited'],
    [429, { type: 'rate_limit_error', message: 'x', details: { error_code: 'enforced_spend_limit_reached' } }, 'upstream_unavailable'],
    [529, { type: 'overloaded_error', message: 'Overloaded' }, 'upstream_overloaded'],
    [504, { type: 'timeout_error', message: 'late' }, 'upstream_timeout'],
  ])('%i %j is %s', (status, error, reason) => {
    expect(messages(status, error).reason).toBe(reason);
  });
});

describe("the words of a messages upstream's refusal", () => {
  it('name no model of the upstream', () => {
    expect(
      messages(400, { type: 'invalid_request_error', message: 'max_tokens: 9 > 8, which is the maximum allowed for claude-opus-5-5' })
        .message,
    ).toBe('max_tokens: 9 > 8, which is the maximum allowed for the model');
  });

  it('say that a filter withheld the answer, by the code that callers know', () => {
    expect(messages(400, { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' }).details).toEqual({
      code: 'content_filter',
    });
  });

  it('include the details that clients read, and no others', () => {
    const details = { error_code: 'image_dimensions_too_large', max_side_length_pixels: 8000, paths: ['messages.0.content.1'] };
    const others = { org: 'org_01kgg', 'claude-opus-5-5-20260101': 4, constructor: 1 };
    const told = messages(400, { type: 'invalid_request_error', message: 'Too large.', details: { ...details, ...others } });
    expect(told.details).toEqual({
      code: 'image_dimensions_too_large',
      details: '{"max_side_length_pixels":8000,"paths":["messages.0.content.1"]}',
    });
    const unfit = { max_side_length_pixels: 'org_01kgg', paths: ['a sentence of the vendor'] };
    expect(messages(400, { type: 'x', message: 'x', details: { error_code: 'x', ...unfit } }).details).toEqual({ code: 'x' });
    const paths = Array.from({ length: 1000 }, (_, index) => String(index));
    expect(messages(400, { type: 'x', message: 'x', details: { error_code: 'x', paths } }).details).toEqual({ code: 'x' });
  });
});

describe('what a caller reads', () => {
  it("is the vendor's text only if it is about the request, and then bounded", () => {
    expect(chat(400, { message: 'x'.repeat(5000) }).message).toHaveLength(1000);
    expect(chat(400, { message: 'bad sk-abcdefgh12345 key' }).message).toBe('bad [redacted] key');
    expect(chatError(400, {}, '<html>proxy</html>', nowMs, 'm').message).toBe('The upstream refused the request with status 400.');
    for (const status of [401, 402, 403, 404, 429, 500, 503])
      expect(chat(status, { message: 'org-12345 is in debt' }).message).not.toContain('org-12345');
  });

  it('keeps the details for operators', () => {
    expect(String(chat(401, { message: 'Key sk-live-abc is revoked', code: 'invalid_api_key' }).cause)).toContain(
      'status 401 invalid_api_key: Key [redacted] is revoked',
    );
  });

  it('holds nothing that looks like a credential', () => {
    expect(redact('Bearer abc.def-ghi and sk-proj-123456\n and\tkey-9999 in org-abcdef')).toBe(
      '[redacted] and [redacted] and [redacted] in [redacted]',
    );
  });
});

describe('a prompt that is too long', () => {
  it.each([
    ["This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."],
    ["This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens."],
    ['The decoder prompt (length 5000) is longer than the maximum model length of 4096.'],
    ['The prompt (total length 5000) is too long to fit into the model (context length 4096).'],
    ['the request exceeds the available context size. try increasing the context size or enable context shift'],
    ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    ['`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`'],
    ['input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'],
    ['Range of input length should be [1, 129024]'],
    ['Trying to keep the first 5000 tokens when the context overflows. The model is loaded with context length of only 4096 tokens'],
  ])('is recognised by the words "%s"', (text) => {
    for (const status of [400, 413, 422, 500]) expect(refusalError({ status, labels: [], text }).reason).toBe('context_length_exceeded');
  });

  it('is not what a cap, a rate or a bad value is called', () => {
    for (const text of [
      'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.',
      "Invalid 'messages[0].content': string too long.",
    ]) {
      expect(refusalError({ status: 400, labels: [], text }).reason).toBe('upstream_rejected');
    }
    expect(refusalError({ status: 429, labels: [], text: 'Too many tokens per minute for this context length.' }).reason).toBe(
      'upstream_rate_limited',
    );
  });
});

describe("the vendor's name of the model", () => {
  const shown = (text: string, model: string) => refusalError({ status: 400, labels: [], text, model }).message;

  it('is not shown', () => {
    expect(shown("'temperature' is not supported with gpt-4o-2024.", 'gpt-4o-2024')).toBe("'temperature' is not supported with the model.");
    expect(shown('The model `org/m:free` takes no images.', 'org/m:free')).toBe('the model takes no images.');
    expect(shown('model "sonnet" is busy; gpt-4o-mini is not', 'sonnet')).toBe('the model is busy; gpt-4o-mini is not');
  });

  it('is left alone inside other names and as an ordinary word', () => {
    expect(shown('gpt-4o-mini is smaller', 'gpt-4o')).toBe('gpt-4o-mini is smaller');
    expect(shown('The text is empty.', 'text')).toBe('The text is empty.');
    expect(shown('a+b', '')).toBe('a+b');
  });
});

describe('retry-after', () => {
  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '7200' }, 60_000],
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:20 GMT' }, 20_000],
    [{ 'retry-after-ms': '150', 'retry-after': '7' }, 150],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('%j means %s ms', (headers, waitMs) => {
    expect(retryAfter(headers, nowMs)).toBe(waitMs);
  });
});
