// How failures of a vendor reach callers of both formats, as the official libraries show them: errors that the caller can fix, errors that a retry can fix,
// and problems of the operator's account, which are hidden. Over upstreams of both formats, with the vendor's own errors.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type Stage, startStage, type Upstream, upstreams } from '../clients/stage.js';
import { post } from '../support/clients/calls.js';
import type { Json } from '../upstream/checks/check.js';
import type { Fault } from '../upstream/script.js';

let stage: Stage;

beforeAll(async () => {
  stage = await startStage('single');
});

afterAll(() => stage?.stop());

/** The fields by which a program can distinguish errors. */
interface Shown {
  readonly status: number | undefined;
  readonly class: string;
  readonly type: unknown;
  readonly code: unknown;
  readonly param: unknown;
  readonly text: string;
  readonly retryAfter: string | null;
  readonly shouldRetry: string | null;
}

/** Makes a call with the library of the format, and returns the error that it raises. */
async function shown(client: Upstream, upstream: Upstream): Promise<Shown> {
  const options = { apiKey: stage.system.firstKey, maxRetries: 0 };
  const body = { model: stage.model(upstream), max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hello' }] };
  const error: unknown =
    client === 'messages'
      ? await new Anthropic({ ...options, baseURL: stage.system.baseUrl }).messages.create(body).catch((thrown: unknown) => thrown)
      : await new OpenAI({ ...options, baseURL: `${stage.system.baseUrl}/v1` }).chat.completions
          .create(body)
          .catch((thrown: unknown) => thrown);
  if (error instanceof OpenAI.APIError) {
    const { status, type, code, param, headers, requestID, error: inner } = error;
    expect(requestID).toMatch(/^req_/);
    return { status, class: error.constructor.name, type, code, param, text: (inner as { message: string }).message, ...waits(headers!) };
  }
  if (error instanceof Anthropic.APIError) {
    const { status, type, headers, requestID, error: body } = error;
    const { error: inner, request_id } = body as { error: Json & { message: string; details: Json }; request_id: string };
    expect([requestID, request_id]).toEqual([expect.stringMatching(/^req_/), requestID]);
    return {
      status,
      class: error.constructor.name,
      type,
      code: inner.details['error_code'],
      param: inner['param'],
      text: inner.message,
      ...waits(headers!),
    };
  }
  throw new Error('The call did not end with an error of the library.', { cause: error });
}

function waits(headers: Headers): Pick<Shown, 'retryAfter' | 'shouldRetry'> {
  return { retryAfter: headers.get('retry-after'), shouldRetry: headers.get('x-should-retry') };
}

const vendor = (type: string, message: string, more: Json = {}): unknown => ({
  type: 'error',
  error: { type, message, param: null, code: null, ...more },
});

interface Case {
  readonly name: string;
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
  /** Cases of both formats, then of chat-completions only, then of messages only. */
  readonly expected: Partial<Shown>;
  readonly openai: Partial<Shown>;
  readonly anthropic: Partial<Shown>;
}

const mine = { shouldRetry: 'false', retryAfter: null };
const repeat = { shouldRetry: null, retryAfter: null };
const invalid = {
  openai: { type: 'invalid_request_error', class: 'BadRequestError' },
  anthropic: { type: 'invalid_request_error', class: 'BadRequestError' },
};
const busy = {
  openai: { status: 503, type: 'server_error', class: 'InternalServerError' },
  anthropic: { status: 529, type: 'overloaded_error', class: 'OverloadedError' },
};
const limited = { openai: { type: 'requests', class: 'RateLimitError' }, anthropic: { type: 'rate_limit_error', class: 'RateLimitError' } };
const broken = {
  openai: { type: 'server_error', class: 'InternalServerError' },
  anthropic: { type: 'api_error', class: 'InternalServerError' },
};
const unavailable = { code: 'upstream_unavailable', param: null, text: 'The upstream is not available at the moment.', ...repeat };

const cases: readonly Case[] = [
  {
    name: 'a value that the vendor refuses, with its code and field',
    status: 400,
    body: vendor('invalid_request_error', 'temperature: must be at most 1', {
      code: 'unsupported_value',
      param: 'temperature',
      details: { error_code: 'unsupported_value' },
    }),
    expected: { status: 400, code: 'unsupported_value', text: 'temperature: must be at most 1', ...mine },
    ...invalid,
  },
  {
    name: 'what the vendor gives no code for',
    status: 400,
    body: vendor('invalid_request_error', 'Not this.'),
    expected: { status: 400, code: 'upstream_rejected', param: null, text: 'Not this.', ...mine },
    ...invalid,
  },
  {
    name: 'a body that the vendor cannot make sense of',
    status: 422,
    body: vendor('invalid_request_error', 'No.'),
    expected: { status: 400, code: 'upstream_rejected', text: 'No.', ...mine },
    ...invalid,
  },
  {
    name: 'a prompt that is too long',
    status: 400,
    body: vendor('invalid_request_error', 'prompt is too long: 250000 tokens > 200000 maximum'),
    expected: { status: 400, code: 'context_length_exceeded', text: 'prompt is too long: 250000 tokens > 200000 maximum', ...mine },
    ...invalid,
  },
  {
    name: 'a filter',
    status: 400,
    body: vendor('invalid_request_error', 'Output blocked by content filtering policy', { code: 'content_filter' }),
    expected: { status: 400, code: 'content_filter', ...mine },
    ...invalid,
  },
  {
    name: 'a body that is too large for the vendor',
    status: 413,
    body: vendor('request_too_large', 'Request exceeds the maximum size'),
    expected: { status: 413, code: 'body_too_large', text: 'Request exceeds the maximum size', ...mine },
    openai: { type: 'invalid_request_error', class: 'APIError' },
    anthropic: { type: 'request_too_large', class: 'ContentTooLargeError' },
  },
  {
    name: 'our own key',
    status: 401,
    body: vendor('authentication_error', 'Incorrect API key provided: sk-secret-of-ours', { code: 'invalid_api_key' }),
    expected: unavailable,
    ...busy,
  },
  {
    name: 'the unpaid account of the operator',
    status: 402,
    body: vendor('billing_error', 'Your credit balance is too low.'),
    expected: unavailable,
    ...busy,
  },
  {
    name: 'our own permissions',
    status: 403,
    body: vendor('permission_error', 'Your organization org-ours may not.'),
    expected: unavailable,
    ...busy,
  },
  {
    name: 'a model that we name wrongly',
    status: 404,
    body: vendor('not_found_error', 'model: chat-completions'),
    expected: unavailable,
    ...busy,
  },
  {
    name: 'our own quota',
    status: 429,
    body: vendor('insufficient_quota', 'You exceeded your current quota.', { code: 'insufficient_quota' }),
    headers: { 'retry-after': '86400' },
    expected: unavailable,
    ...busy,
  },
  {
    name: 'the empty account of the operator, reported as a 400',
    status: 400,
    body: vendor('invalid_request_error', 'Your credit balance is too low to access the API.'),
    expected: unavailable,
    ...busy,
  },
  {
    name: 'a rate limit that says when',
    status: 429,
    body: vendor('rate_limit_error', 'Org org-ours: slow down.'),
    headers: { 'retry-after': '7' },
    expected: { status: 429, code: 'rate_limit_exceeded', shouldRetry: null, retryAfter: '7' },
    ...limited,
  },
  {
    name: 'a rate limit that asks for an hour',
    status: 429,
    body: vendor('rate_limit_error', 'Slow.'),
    headers: { 'retry-after': '3600' },
    expected: { status: 429, shouldRetry: null, retryAfter: '60' },
    ...limited,
  },
  {
    name: 'a rate limit that does not say when',
    status: 429,
    body: vendor('rate_limit_error', 'Slow.'),
    expected: { status: 429, ...repeat },
    ...limited,
  },
  {
    name: 'an internal error',
    status: 500,
    body: vendor('api_error', 'stack trace at db-7.internal'),
    expected: { status: 502, code: 'upstream_failed', text: 'The upstream failed to answer.', ...repeat },
    ...broken,
  },
  {
    name: 'a page of a proxy',
    status: 502,
    body: '<html><body><h1>502 Bad Gateway</h1>proxy-17.internal</body></html>',
    expected: { status: 502, code: 'upstream_failed', text: 'The upstream failed to answer.', ...repeat },
    ...broken,
  },
  {
    name: 'a page in place of an answer',
    status: 200,
    body: '<html><body>Please log in to proxy-17.internal</body></html>',
    expected: { status: 502, code: 'upstream_failed', ...repeat },
    ...broken,
  },
  {
    name: 'a page that says 400',
    status: 400,
    body: '<html>proxy-17.internal</html>',
    expected: { status: 400, code: 'upstream_rejected', text: 'The upstream refused the request with status 400.', ...mine },
    ...invalid,
  },
  {
    name: 'an overloaded vendor',
    status: 529,
    body: vendor('overloaded_error', 'Overloaded'),
    expected: { code: 'upstream_overloaded', ...repeat },
    ...busy,
  },
  {
    name: 'a vendor out of service',
    status: 503,
    body: vendor('server_error', 'The engine is down'),
    headers: { 'retry-after': '3' },
    expected: { code: 'upstream_overloaded', shouldRetry: null, retryAfter: '3' },
    ...busy,
  },
  {
    name: 'a vendor that ran out of time',
    status: 408,
    body: vendor('timeout_error', 'Timed out'),
    expected: { status: 504, code: 'upstream_timeout', ...repeat },
    openai: { type: 'server_error', class: 'InternalServerError' },
    anthropic: { type: 'timeout_error', class: 'GatewayTimeoutError' },
  },
];

const paths = upstreams.flatMap((client) => upstreams.map((upstream) => ({ client, upstream })));

describe('a refusal of the vendor is reported as', () => {
  it.each(cases)('$name: $status', async ({ status, body, headers, expected, openai, anthropic }) => {
    const fault: Fault = { kind: 'status', status, body, ...(headers === undefined ? {} : { headers }) };
    for (const upstream of upstreams) stage.play(upstream, { fault });
    for (const { client, upstream } of paths) {
      const error = await shown(client, upstream);
      expect({ client, upstream, error }).toMatchObject({
        client,
        upstream,
        error: { ...expected, ...(client === 'messages' ? anthropic : openai) },
      });
      expect(error.text).not.toMatch(/internal|org-|sk-secret|<|credit|quota/);
    }
    // None of our own rules refused it; the vendor did.
    stage.stub.takeRefused();
  });

  it('with the field, if the vendor names one', async () => {
    const body = vendor('invalid_request_error', 'No.', { param: 'messages[0].content' });
    stage.play('chat-completions', { fault: { kind: 'status', status: 400, body } });
    for (const client of upstreams) expect((await shown(client, 'chat-completions')).param).toBe('messages[0].content');
  });
});

describe('in the middle of a stream', () => {
  const frames: readonly [string, Json, { openai: string; anthropic: string; code: string }][] = [
    [
      'overloaded',
      { type: 'overloaded_error', message: 'db-7.internal' },
      { openai: 'server_error', anthropic: 'overloaded_error', code: 'upstream_overloaded' },
    ],
    [
      'rate limited',
      { type: 'rate_limit_error', message: 'org-ours is slow' },
      { openai: 'requests', anthropic: 'rate_limit_error', code: 'rate_limit_exceeded' },
    ],
    [
      'an account of ours',
      { type: 'authentication_error', message: 'sk-secret-of-ours' },
      { openai: 'server_error', anthropic: 'overloaded_error', code: 'upstream_unavailable' },
    ],
    [
      'anything else',
      { type: 'api_error', message: 'db-7.internal' },
      { openai: 'server_error', anthropic: 'api_error', code: 'upstream_failed' },
    ],
  ];

  it.each(frames)("%s ends the stream with one frame of the caller's format, with the request id", async (_name, error, expected) => {
    for (const { client, upstream } of paths) {
      stage.play(upstream, {
        blocks: [{ type: 'text', text: 'It was a bright cold day in April.' }],
        fault: { kind: 'error-frame', afterFrames: 6, error: { param: null, code: null, ...error } },
      });
      const path = client === 'messages' ? '/v1/messages' : '/v1/chat/completions';
      const response = await post(stage.system, path, stage.system.firstKey, {
        model: stage.model(upstream),
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
      });
      const text = await response.text();
      const last = text.trimEnd().split('\n\n').at(-1)!;
      const [, eventName, data] = /^(?:event: (\w+)\n)?data: (.*)$/.exec(last)!;
      expect(eventName).toBe(client === 'messages' ? 'error' : undefined);
      expect(JSON.parse(data!)).toMatchObject({
        type: 'error',
        error: { type: client === 'messages' ? expected.anthropic : expected.openai, code: expected.code },
        request_id: response.headers.get('x-request-id'),
      });
      expect(text).not.toMatch(/internal|org-ours|sk-secret|\[DONE\]|message_stop|"finish_reason":"/);
    }
  });
});

describe('our own refusals', () => {
  const ask = async (
    path: string,
    init: RequestInit,
  ): Promise<{ status: number; allow: string | null; ids: (string | null)[]; error: Json }> => {
    const response = await fetch(`${stage.system.baseUrl}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${stage.system.firstKey}`, 'content-type': 'application/json' },
    });
    const { error } = (await response.json()) as { error: Json };
    return {
      status: response.status,
      allow: response.headers.get('allow'),
      ids: ['x-request-id', 'request-id'].map((name) => response.headers.get(name)),
      error,
    };
  };

  it.each([
    ['/v1/chat/completions', 'invalid_request_error', 'invalid_request_error'],
    ['/v1/messages', 'not_found_error', 'invalid_request_error'],
  ])('of %s have the request id in both headers, whatever the error', async (path, unknownType, methodType) => {
    const body = JSON.stringify({ model: 'no/such', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] });
    const unknown = await ask(path, { method: 'POST', body });
    expect(unknown).toMatchObject({ status: 404, error: { type: unknownType, code: 'model_not_found', param: 'model' } });
    const method = await ask(path, { method: 'PUT', body });
    expect(method).toMatchObject({ status: 405, error: { type: methodType, reason: 'method_not_allowed' } });
    expect(method.allow).toContain('POST');
    const malformed = await ask(path, { method: 'POST', body: '{"model":' });
    expect(malformed).toMatchObject({ status: 400, error: { type: 'invalid_request_error', reason: 'invalid_request' } });
    for (const { ids } of [unknown, method, malformed]) expect(ids).toEqual([expect.stringMatching(/^req_/), ids[0]]);
  });
});
