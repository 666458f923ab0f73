import { describe, expect, it } from '@jest/globals';
import { AppError, internalMessage } from '#client/errors/app-error.js';
import { fieldRules, sentences } from '#rules/errors/error-sentences.js';
import { type Reason, reasons } from '#rules/errors/reasons.js';
import { renderConsoleError } from '../../console/table/error.js';
import { ErrorBody } from '../account-schema.js';
import { chatCompletions } from '../chat-completions/index.js';
import { expectToMatch } from '../testing/frames.js';
import type { Format, HttpError } from '../format.js';
import { messages } from '../messages/index.js';
import { responses } from '../responses/index.js';

type Body = { error: Record<string, unknown>; request_id: string };

const all = [chatCompletions, messages, responses];
const bodyOf = (answer: HttpError): Body => answer.body as Body;
const tell = (format: Format, reason: Reason, options: object = {}): HttpError =>
  format.error(new AppError(reason, 'A message.', options), 'req_1');

/** Status, chat-completions type and code, and messages type, as clients' libraries know them. */
const reported: [Reason, number, string, string, number, string][] = [
  ['invalid_request', 400, 'invalid_request_error', 'invalid_value', 400, 'invalid_request_error'],
  ['unsupported_field', 400, 'invalid_request_error', 'unsupported_parameter', 400, 'invalid_request_error'],
  ['context_length_exceeded', 400, 'invalid_request_error', 'context_length_exceeded', 400, 'invalid_request_error'],
  ['body_too_large', 413, 'invalid_request_error', 'body_too_large', 413, 'request_too_large'],
  ['upload_too_slow', 408, 'invalid_request_error', 'upload_too_slow', 408, 'timeout_error'],
  ['already_exists', 409, 'invalid_request_error', 'already_exists', 409, 'conflict_error'],
  ['failed_precondition', 400, 'invalid_request_error', 'failed_precondition', 400, 'invalid_request_error'],
  ['idempotency_mismatch', 422, 'invalid_request_error', 'idempotency_mismatch', 422, 'invalid_request_error'],
  ['idempotency_in_progress', 409, 'invalid_request_error', 'idempotency_in_progress', 409, 'conflict_error'],
  ['idempotency_answer_gone', 410, 'invalid_request_error', 'idempotency_answer_gone', 410, 'invalid_request_error'],
  ['not_found', 404, 'invalid_request_error', 'not_found', 404, 'not_found_error'],
  ['not_offered', 404, 'invalid_request_error', 'not_offered', 404, 'not_found_error'],
  ['method_not_allowed', 405, 'invalid_request_error', 'method_not_allowed', 405, 'invalid_request_error'],
  ['key_missing', 401, 'invalid_request_error', 'invalid_api_key', 401, 'authentication_error'],
  ['key_malformed', 401, 'invalid_request_error', 'invalid_api_key', 401, 'authentication_error'],
  ['key_unknown', 401, 'invalid_request_error', 'invalid_api_key', 401, 'authentication_error'],
  ['key_revoked', 401, 'invalid_request_error', 'invalid_api_key', 401, 'authentication_error'],
  ['key_expired', 401, 'invalid_request_error', 'invalid_api_key', 401, 'authentication_error'],
  ['key_disabled', 403, 'permission_error', 'key_disabled', 403, 'permission_error'],
  ['account_suspended', 403, 'permission_error', 'account_suspended', 403, 'permission_error'],
  ['model_not_permitted', 403, 'permission_error', 'model_not_permitted', 403, 'permission_error'],
  ['address_not_permitted', 403, 'permission_error', 'address_not_permitted', 403, 'permission_error'],
  ['model_unknown', 404, 'invalid_request_error', 'model_not_found', 404, 'not_found_error'],
  ['model_unpriced', 400, 'invalid_request_error', 'model_unpriced', 400, 'invalid_request_error'],
  ['model_unavailable', 503, 'server_error', 'model_unavailable', 529, 'overloaded_error'],
  ['model_paused', 503, 'server_error', 'model_paused', 529, 'overloaded_error'],
  ['balance_empty', 402, 'insufficient_quota', 'balance_empty', 402, 'billing_error'],
  ['balance_held', 402, 'insufficient_quota', 'balance_held', 402, 'billing_error'],
  ['key_limit_reached', 402, 'insufficient_quota', 'key_limit_reached', 402, 'billing_error'],
  ['budget_reached', 402, 'insufficient_quota', 'budget_reached', 402, 'billing_error'],
  ['upstream_rejected', 400, 'invalid_request_error', 'upstream_rejected', 400, 'invalid_request_error'],
  ['rate_limited', 429, 'requests', 'rate_limit_exceeded', 429, 'rate_limit_error'],
  ['upstream_rate_limited', 429, 'requests', 'rate_limit_exceeded', 429, 'rate_limit_error'],
  ['upstream_overloaded', 503, 'server_error', 'upstream_overloaded', 529, 'overloaded_error'],
  ['upstream_unavailable', 503, 'server_error', 'upstream_unavailable', 529, 'overloaded_error'],
  ['upstream_failed', 502, 'server_error', 'upstream_failed', 502, 'api_error'],
  ['upstream_timeout', 504, 'server_error', 'upstream_timeout', 504, 'timeout_error'],
  ['overloaded', 503, 'server_error', 'overloaded', 529, 'overloaded_error'],
  ['service_unavailable', 503, 'server_error', 'service_unavailable', 529, 'overloaded_error'],
  ['deadline_exceeded', 504, 'server_error', 'deadline_exceeded', 504, 'timeout_error'],
  ['cancelled', 499, 'server_error', 'cancelled', 499, 'api_error'],
  ['unimplemented', 501, 'server_error', 'unimplemented', 501, 'api_error'],
];

/** Reasons that callers never see. */
const hidden: readonly Reason[] = [
  'internal',
  'peer_not_permitted',
  'actor_refused',
  'hold_closed',
  'call_closed',
  'sign_in_refused',
  'sign_in_throttled',
  'session_unknown',
  'role_not_permitted',
  'code_refused',
  'code_throttled',
];

describe('a refusal', () => {
  it.each(reported)('for %s has the values of each format', (reason, status, type, code, messagesStatus, messagesType) => {
    for (const format of [chatCompletions, responses]) {
      expect(tell(format, reason)).toMatchObject({
        status,
        body: { type: 'error', error: { type, code, message: 'A message.', reason }, request_id: 'req_1' },
      });
    }
    expect(tell(messages, reason)).toMatchObject({
      status: messagesStatus,
      body: {
        type: 'error',
        error: { type: messagesType, message: 'A message.', reason, details: { error_code: code } },
        request_id: 'req_1',
      },
    });
  });

  it('has a row in this table for every reason', () => {
    expect([...reported.map(([reason]) => reason), ...hidden].sort()).toEqual(Object.keys(reasons).sort());
  });

  it.each(Object.keys(reasons) as Reason[])('for %s is an error status and a body that clients of all formats can read', (reason) => {
    for (const format of all) {
      const answer = tell(format, reason, { details: { field: 'messages', needed_nano_usd: '1' } });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expectToMatch(ErrorBody, answer.body);
    }
  });

  it('names the invalid field', () => {
    for (const format of all)
      expect(bodyOf(tell(format, 'invalid_request', { details: { field: 'messages[0]' } })).error['param']).toBe('messages[0]');
  });

  it("of a vendor has the vendor's own code and field, in all formats", () => {
    for (const format of all) {
      const words = { code: 'content_filter', param: 'messages[0].content' };
      expect(bodyOf(tell(format, 'upstream_rejected', { details: words })).error).toMatchObject(words);
      // For these, clients act on our own code.
      expect(bodyOf(tell(format, 'context_length_exceeded', { details: { code: '400' } })).error['code']).toBe('context_length_exceeded');
      expect(bodyOf(tell(format, 'body_too_large', { details: { code: 'too_big' } })).error['code']).toBe('body_too_large');
    }
    expect(bodyOf(tell(messages, 'upstream_rejected', { details: { code: 'content_filter' } })).error['details']).toEqual({
      error_code: 'content_filter',
    });
  });

  it("of a messages upstream keeps the details of the vendor's code, which @anthropic-ai/sdk reads", () => {
    const tooLarge = { code: 'image_dimensions_too_large', details: '{"max_side_length_pixels":8000,"paths":["messages.0"]}' };
    const { error } = bodyOf(tell(messages, 'upstream_rejected', { details: tooLarge }));
    expect(error['details']).toEqual({ error_code: 'image_dimensions_too_large', max_side_length_pixels: 8000, paths: ['messages.0'] });
    expectToMatch(ErrorBody, { type: 'error', error, request_id: 'req_1' });
  });

  it('in the middle of a stream is the same body as a frame of the format, with the request id', () => {
    const error = new AppError('upstream_overloaded', 'A message.', { retryAfterMs: 1000 });
    expect(chatCompletions.errorFrame(error, 'req_1')).toBe(`data: ${JSON.stringify(chatCompletions.error(error, 'req_1').body)}\n\n`);
    expect(messages.errorFrame(error, 'req_1')).toBe(`event: error\ndata: ${JSON.stringify(messages.error(error, 'req_1').body)}\n\n`);
    for (const format of all) expect(format.error(error, 'req_1').body).toMatchObject({ request_id: 'req_1' });
  });

  it('for insufficient funds gives the exact amounts in USD', () => {
    const details = {
      available_nano_usd: '1',
      held_nano_usd: '2500000000',
      needed_nano_usd: '3000000000',
      limit_nano_usd: '0',
      spent_nano_usd: '-1',
    };
    for (const format of all) {
      expect(bodyOf(tell(format, 'balance_empty', { details })).error).toMatchObject({
        available: '0.000000001',
        held: '2.5',
        needed: '3',
        limit: '0',
        spent: '-0.000000001',
      });
    }
  });

  it('passes on other details, except those that would overwrite the error itself', () => {
    const { error } = bodyOf(tell(messages, 'body_too_large', { details: { limit_bytes: '10', type: 'x', message: 'y', details: 'z' } }));
    expect(error).toMatchObject({
      limit_bytes: '10',
      type: 'request_too_large',
      message: 'A message.',
      details: { error_code: 'body_too_large' },
    });
  });

  it('for a conversation stored by the server has the form that the tool runner of @anthropic-ai/sdk understands', () => {
    const { error } = bodyOf(tell(messages, 'unsupported_field', { details: { field: 'thread' } }));
    expect(error).toMatchObject({ param: 'thread', details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } });
    expectToMatch(ErrorBody, { type: 'error', error, request_id: 'req_1' });
  });

  it('for an internal failure shows only a fixed text', () => {
    for (const format of all) {
      for (const reason of hidden) {
        const { status, body } = format.error(new AppError(reason, 'secret', { details: { table: 'secret' } }), 'req_1');
        expect(status).toBe(500);
        expect((body as Body).error['message']).toBe(internalMessage);
        expect(JSON.stringify(body)).not.toMatch(/secret|peer|closed/);
      }
    }
  });
});

describe('no error of the whole table', () => {
  // The catalog of models is public.
  const internals = /tollgate\.|\b(ledger|metering|inference|auth|database|spool|replica|rpc)\b/i;
  const messagesOf = (error: AppError): unknown[] =>
    [...all.map((format) => format.error(error, 'req_1')), renderConsoleError(error, 'req_1')].map(
      (answer) => bodyOf(answer).error['message'],
    );

  it.each(Object.keys(reasons) as Reason[])('names a service or an RPC to customers: %s', (reason) => {
    const failures = [
      new AppError(reason, 'tollgate.ledger.v1.LedgerService/Hold: the service did not answer in time.'),
      new AppError(reason, 'tollgate.auth.v1.AuthService/Authenticate was not begun.', { remote: true }),
    ];
    for (const message of failures.flatMap(messagesOf)) expect(message).not.toMatch(internals);
  });

  it.each(['service_unavailable', 'overloaded', 'deadline_exceeded', 'unimplemented'] as Reason[])(
    'names the part of the installation that failed: %s',
    (reason) => {
      const failure = new AppError(reason, 'Metering cannot reach its database.', { remote: true });
      for (const message of messagesOf(failure)) expect(message).not.toMatch(internals);
    },
  );

  it('contains a sentence that names one', () => {
    const all = [...Object.values(sentences).flatMap((ofReason) => Object.values(ofReason) as string[]), ...Object.values(fieldRules)];
    expect(all.filter((sentence) => internals.test(sentence))).toEqual([]);
  });
});

describe('client libraries', () => {
  it.each([
    'key_unknown',
    'balance_empty',
    'invalid_request',
    'model_unknown',
    'already_exists',
    'idempotency_mismatch',
    'idempotency_answer_gone',
  ] as Reason[])('must not retry after %s', (reason) => {
    for (const format of all) expect(tell(format, reason, { retryAfterMs: 5000 }).headers).toEqual({ 'x-should-retry': 'false' });
  });

  it("may retry at a key's limit or a budget only if calls in flight hold the missing amount", () => {
    for (const format of all) {
      for (const reason of ['key_limit_reached', 'budget_reached'] as const) {
        expect(tell(format, reason, {}).headers).toEqual({ 'x-should-retry': 'false' });
        expect(tell(format, reason, { retryAfterMs: 2000 }).headers).toEqual({ 'retry-after': '2', 'x-should-retry': 'true' });
      }
    }
  });

  it('may retry a 402 if calls in flight hold the missing amount, because none does so by itself', () => {
    for (const format of all)
      expect(tell(format, 'balance_held', { retryAfterMs: 1500 }).headers).toEqual({ 'retry-after': '2', 'x-should-retry': 'true' });
  });

  it('says to retry only while upstreams are drained, not while none is set up', () => {
    for (const format of all) {
      expect(tell(format, 'model_unavailable', {}).headers).toEqual({ 'x-should-retry': 'false' });
      expect(tell(format, 'model_unavailable', { retryAfterMs: 1000 }).headers).toEqual({ 'retry-after': '1' });
    }
  });

  it.each(['upstream_rate_limited', 'upstream_overloaded', 'upstream_unavailable', 'upstream_failed', 'upstream_timeout'] as Reason[])(
    'receive a wait after %s only if it is known, because their own backoff is better than every second',
    (reason) => {
      for (const format of all) {
        expect(tell(format, reason, {}).headers).toEqual({});
        expect(tell(format, reason, { retryAfterMs: 1500 }).headers).toEqual({ 'retry-after': '2' });
        expect(tell(format, reason, { retryAfterMs: 86_400_000 }).headers).toEqual({ 'retry-after': '60' });
      }
    },
  );

  it.each(['idempotency_in_progress', 'overloaded', 'service_unavailable'] as Reason[])(
    'learn when to retry after %s, and never to sleep for more than a minute',
    (reason) => {
      for (const format of all) {
        const headersAfter = (retryAfterMs?: number): object =>
          tell(format, reason, retryAfterMs === undefined ? {} : { retryAfterMs }).headers;
        expect(headersAfter(1500)).toEqual({ 'retry-after': '2' });
        expect(headersAfter(0)).toEqual({ 'retry-after': '1' });
        expect(headersAfter(86_400_000)).toEqual({ 'retry-after': '60' });
        expect(headersAfter()).toEqual({ 'retry-after': '1' });
      }
    },
  );
});
