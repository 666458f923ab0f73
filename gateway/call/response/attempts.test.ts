import { describe, expect, it } from '@jest/globals';
import { FailedAttempt, Started, type Target, TargetChoice } from '#proto/inference/v1/inference.js';
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
  it('are a single one when the first target answered, without fields that would make the record larger', () => {
    const { attempts, log: attemptLog } = log();
    attemptLog.answer(started('a'));
    attemptLog.end(Outcome.OUTCOME_COMPLETED, 'input_zero');
    expect(attempts).toEqual([attempt('a', { answered: true })]);
  });

  it('are the failed ones and the one that answered, each beginning when the previous one ended', () => {
    const { attempts, log: attemptLog } = log();
    attemptLog.fail(failed('a', 'b'));
    expect(attempts).toEqual([attempt('a', { ...failure, offsetMs: 15, upstreamRequestId: 'req_a' }), attempt('b', { offsetMs: 35 })]);
    attemptLog.fail(failed('b', 'c', { offsetMs: 31, durationMs: 4, reason: 'upstream_timeout', httpStatus: 0, upstreamRequestId: '' }));
    attemptLog.answer(started('c'));
    attemptLog.end(Outcome.OUTCOME_MAX_TOKENS, '');
    expect(attempts).toEqual([
      attempt('a', { ...failure, offsetMs: 15, upstreamRequestId: 'req_a' }),
      attempt('b', { offsetMs: 36, durationMs: 4, reason: 'upstream_timeout' }),
      attempt('c', { offsetMs: 40, answered: true, upstreamRequestId: 'req_c' }),
    ]);
  });

  it('include both of a hedged call, each from its own beginning, whichever answered first', () => {
    const won = log();
    won.log.fail(failed('a', 'b', { offsetMs: 0, durationMs: 70, reason: 'cancelled', httpStatus: 0, nextOffsetMs: 50 }));
    won.log.answer({ ...started('b'), choice: TargetChoice.TARGET_CHOICE_HEDGE });
    expect(won.attempts.map(({ upstreamId, offsetMs, choice, answered }) => [upstreamId, offsetMs, choice, answered])).toEqual([
      ['a', 5, undefined, false],
      ['b', 55, TargetChoice.TARGET_CHOICE_HEDGE, true],
    ]);
    const lost = log();
    lost.log.fail(
      failed('b', 'a', { offsetMs: 50, durationMs: 20, reason: 'cancelled', nextOffsetMs: 0, choice: TargetChoice.TARGET_CHOICE_HEDGE }),
    );
    lost.log.answer(started('a'));
    expect(lost.attempts.map(({ upstreamId, offsetMs, answered }) => [upstreamId, offsetMs, answered])).toEqual([
      ['b', 55, false],
      ['a', 5, true],
    ]);
  });

  it('include the attempt whose answer broke off and the one that replaced it', () => {
    const { attempts, log: attemptLog } = log();
    attemptLog.answer(started('a'));
    attemptLog.fail(failed('a', 'b', { httpStatus: 200 }));
    attemptLog.answer(started('b'));
    expect(attempts.map(({ upstreamId, answered, reason, durationMs }) => [upstreamId, answered, reason, durationMs])).toEqual([
      ['a', true, 'upstream_failed', 20],
      ['b', true, '', undefined],
    ]);
  });

  it('are all failed ones when none answered', () => {
    const { attempts, log: attemptLog } = log();
    attemptLog.fail(failed('a', 'b'));
    attemptLog.fail(failed('b', undefined, { reason: 'upstream_rejected' }));
    attemptLog.end(Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, 'upstream_rejected');
    expect(attempts.map(({ upstreamId, reason, durationMs }) => [upstreamId, reason, durationMs])).toEqual([
      ['a', 'upstream_failed', 20],
      ['b', 'upstream_rejected', 20],
    ]);
  });

  it.each([
    [
      'failed in the middle',
      Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT,
      'upstream_failed',
      { reason: 'upstream_failed', upstreamRequestId: 'req_a' },
    ],
    ['took too long', Outcome.OUTCOME_TIMEOUT, 'upstream_timeout', { reason: 'upstream_timeout', upstreamRequestId: 'req_a' }],
    ['did not fail when a gateway error ended the call', Outcome.OUTCOME_GATEWAY_ERROR, 'call_closed', {}],
    ['did not fail when the client disconnected', Outcome.OUTCOME_CLIENT_DISCONNECTED, '', {}],
  ])('record that the one that answered %s', (_what, outcome, detail, fields) => {
    const { attempts, log: attemptLog } = log();
    attemptLog.answer(started('a'));
    attemptLog.end(outcome, detail);
    expect(attempts).toEqual([attempt('a', { answered: true, ...fields })]);
  });

  it.each([
    ['the client disconnects', Outcome.OUTCOME_CLIENT_DISCONNECTED, '', ''],
    ['the time limit of the call ends', Outcome.OUTCOME_TIMEOUT, 'deadline_exceeded', 'deadline_exceeded'],
    ['inference becomes unavailable', Outcome.OUTCOME_GATEWAY_ERROR, 'service_unavailable', 'service_unavailable'],
  ])('include the current one when %s', (_what, outcome, detail, reason) => {
    const { attempts, log: attemptLog } = log();
    attemptLog.fail(failed('a', 'b'));
    attemptLog.end(outcome, detail);
    expect(attempts[1]).toEqual(attempt('b', { offsetMs: 35, reason }));
  });

  it('are none when nothing answered or failed', () => {
    const { attempts, log: attemptLog } = log();
    attemptLog.end(Outcome.OUTCOME_CLIENT_DISCONNECTED, '');
    attemptLog.end(Outcome.OUTCOME_GATEWAY_ERROR, 'service_unavailable');
    expect(attempts).toEqual([]);
  });

  it('are limited in number', () => {
    const { attempts, log: attemptLog } = log();
    for (let count = 0; count < 3 * attemptsMax; count += 1) attemptLog.fail(failed(`u${count}`, `u${count + 1}`));
    attemptLog.answer(started('last'));
    expect(attempts).toHaveLength(attemptsMax);
  });

  it('can be recorded even if the clock was set in the meantime', () => {
    const { attempts, log: attemptLog } = log();
    attemptLog.ask(-3_600_000);
    attemptLog.fail(failed('a', 'b'));
    expect(attempts.map(({ offsetMs }) => offsetMs)).toEqual([0, 0]);
  });
});
