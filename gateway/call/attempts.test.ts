import { describe, expect, it } from '@jest/globals';
import { FailedAttempt, Started, type Target } from '#proto/inference/v1/inference.js';
import { type Attempt, Outcome } from '#proto/metering/v1/metering.js';
import { AttemptLog, attemptsMax } from './attempts.js';

const target = (name: string): Target => ({ upstreamId: name, upstreamModel: `${name}-model` });
const failed = (name: string, next: string | undefined, fields: Partial<FailedAttempt> = {}): FailedAttempt =>
  FailedAttempt.fromPartial({
    target: target(name),
    offsetMs: 10,
    durationMs: 20,
    reason: 'upstream_failed',
    httpStatus: 500,
    upstreamRequestId: `req_${name}`,
    ...(next === undefined ? {} : { next: target(next) }),
    ...fields,
  });
const started = (name: string): Started => Started.fromPartial({ target: target(name), upstreamRequestId: `req_${name}` });
const attempt = (name: string, fields: Partial<Attempt> = {}): Attempt => ({
  ...target(name),
  offsetMs: 5,
  answered: false,
  reason: '',
  httpStatus: 0,
  upstreamRequestId: '',
  ...fields,
});
const failure = { durationMs: 20, reason: 'upstream_failed', httpStatus: 500 };

function log(): { attempts: Attempt[]; log: AttemptLog } {
  const attempts: Attempt[] = [];
  const made = new AttemptLog(attempts);
  made.ask(5);
  return { attempts, log: made };
}

describe('the attempts of a call', () => {
  it('are one that answered, with nothing that its record would have to pay for', () => {
    const { attempts, log: noted } = log();
    noted.answer(started('a'));
    noted.end(Outcome.OUTCOME_COMPLETED, 'input_zero');
    expect(attempts).toEqual([attempt('a', { answered: true })]);
  });

  it('are those that failed and the one that answered, each beginning when the one before ended', () => {
    const { attempts, log: noted } = log();
    noted.fail(failed('a', 'b'));
    expect(attempts).toEqual([attempt('a', { ...failure, offsetMs: 15, upstreamRequestId: 'req_a' }), attempt('b', { offsetMs: 35 })]);
    noted.fail(failed('b', 'c', { offsetMs: 31, durationMs: 4, reason: 'upstream_timeout', httpStatus: 0, upstreamRequestId: '' }));
    noted.answer(started('c'));
    noted.end(Outcome.OUTCOME_MAX_TOKENS, '');
    expect(attempts).toEqual([
      attempt('a', { ...failure, offsetMs: 15, upstreamRequestId: 'req_a' }),
      attempt('b', { offsetMs: 36, durationMs: 4, reason: 'upstream_timeout' }),
      attempt('c', { offsetMs: 40, answered: true, upstreamRequestId: 'req_c' }),
    ]);
  });

  it('are all failed ones where none answered', () => {
    const { attempts, log: noted } = log();
    noted.fail(failed('a', 'b'));
    noted.fail(failed('b', undefined, { reason: 'upstream_rejected' }));
    noted.end(Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, 'upstream_rejected');
    expect(attempts.map(({ upstreamId, reason, durationMs }) => [upstreamId, reason, durationMs])).toEqual([
      ['a', 'upstream_failed', 20],
      ['b', 'upstream_rejected', 20],
    ]);
  });

  it.each([
    [
      'broke off',
      Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT,
      'upstream_failed',
      { reason: 'upstream_failed', upstreamRequestId: 'req_a' },
    ],
    ['took too long', Outcome.OUTCOME_TIMEOUT, 'upstream_timeout', { reason: 'upstream_timeout', upstreamRequestId: 'req_a' }],
    ['did nothing wrong though a fault of ours ended the call', Outcome.OUTCOME_GATEWAY_ERROR, 'call_closed', {}],
    ['did nothing wrong though the caller left', Outcome.OUTCOME_CLIENT_DISCONNECTED, '', {}],
  ])('say that the one that answered %s', (_what, outcome, detail, fields) => {
    const { attempts, log: noted } = log();
    noted.answer(started('a'));
    noted.end(outcome, detail);
    expect(attempts).toEqual([attempt('a', { answered: true, ...fields })]);
  });

  it.each([
    ['the caller left', Outcome.OUTCOME_CLIENT_DISCONNECTED, '', ''],
    ['our time was up', Outcome.OUTCOME_TIMEOUT, 'deadline_exceeded', 'deadline_exceeded'],
    ['inference vanished', Outcome.OUTCOME_GATEWAY_ERROR, 'service_unavailable', 'service_unavailable'],
  ])('keep what was tried when %s', (_what, outcome, detail, reason) => {
    const { attempts, log: noted } = log();
    noted.fail(failed('a', 'b'));
    noted.end(outcome, detail);
    expect(attempts[1]).toEqual(attempt('b', { offsetMs: 35, reason }));
  });

  it('are none where nothing answered or failed', () => {
    const { attempts, log: noted } = log();
    noted.end(Outcome.OUTCOME_CLIENT_DISCONNECTED, '');
    noted.end(Outcome.OUTCOME_GATEWAY_ERROR, 'service_unavailable');
    expect(attempts).toEqual([]);
  });

  it('are bounded', () => {
    const { attempts, log: noted } = log();
    for (let count = 0; count < 3 * attemptsMax; count += 1) noted.fail(failed(`u${count}`, `u${count + 1}`));
    noted.answer(started('last'));
    expect(attempts).toHaveLength(attemptsMax);
  });

  it('can be recorded though the clock was set meanwhile', () => {
    const { attempts, log: noted } = log();
    noted.ask(-3_600_000);
    noted.fail(failed('a', 'b'));
    expect(attempts.map(({ offsetMs }) => offsetMs)).toEqual([0, 0]);
  });
});
