import { describe, expect, it } from '@jest/globals';
import { TargetChoice } from '#proto/inference/v1/inference.js';
import { Attempt, UsageRecord } from '#proto/metering/v1/metering.js';
import { renderAttempts } from './attempts.js';

const startedAtMs = Date.parse('2026-11-22T10:00:00.000Z');
const attempts = (...given: Parameters<typeof Attempt.fromPartial>[0][]): UsageRecord =>
  UsageRecord.fromPartial({
    call: { startedAtMs: BigInt(startedAtMs), attempts: given.map((each) => ({ upstreamId: 'vendor', upstreamModel: 'm-1', ...each })) },
    durationMs: 900,
  });
const failed = { offsetMs: 3, durationMs: 30, reason: 'upstream_unavailable', httpStatus: 401, upstreamRequestId: 'req_1' };

describe('attempts', () => {
  it('show when each began, how long it took and its outcome; the last one lasts as long as the call', () => {
    expect(renderAttempts(attempts(failed, { offsetMs: 33, answered: true, upstreamRequestId: 'req_2' }))).toEqual([
      { number: 1, started_at: '2026-11-22T10:00:00.003Z', duration_ms: 30, outcome: 'failed', reason: 'upstream_unavailable' },
      { number: 2, started_at: '2026-11-22T10:00:00.033Z', duration_ms: 867, outcome: 'answered', reason: null },
    ]);
  });

  it('show the upstream of each and its name of the model to operators only', () => {
    expect(JSON.stringify(renderAttempts(attempts(failed)))).not.toMatch(/vendor|m-1|401|req_1/);
    expect(renderAttempts(attempts(failed, { offsetMs: 33, answered: true }), true)).toMatchObject([
      { upstream: { id: 'vendor', model: 'm-1' }, http_status: 401, upstream_request_id: 'req_1' },
      { upstream: { id: 'vendor', model: 'm-1' }, http_status: null, upstream_request_id: null },
    ]);
  });

  it('show why a target was chosen, and its credential, to operators only', () => {
    const chosen = attempts({ ...failed, choice: TargetChoice.TARGET_CHOICE_PREFIX, credentialId: 'second' });
    expect(renderAttempts(chosen, true)).toMatchObject([{ chosen_by: 'prefix', credential: 'second' }]);
    expect(JSON.stringify(renderAttempts(chosen))).not.toMatch(/prefix|second/);
  });

  it.each([
    [{ answered: true, reason: 'upstream_failed' }, 'broke_off'],
    [{ answered: false, reason: '' }, 'abandoned'],
    [{ answered: false, reason: 'unsupported_field', durationMs: 0 }, 'failed'],
  ])('%j is %s', (given, outcome) => {
    expect(renderAttempts(attempts(given))).toMatchObject([{ outcome }]);
  });

  it('never have a negative duration, even if the clock was set in between', () => {
    expect(renderAttempts(attempts({ offsetMs: 5000, answered: true }))).toMatchObject([{ duration_ms: 0 }]);
  });
});
