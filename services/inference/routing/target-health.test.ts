import { describe, expect, it } from '@jest/globals';
import { TargetHealth } from './target-health.js';

const rules = {
  failuresMax: 3,
  failurePercentMax: 50,
  failureCallsMin: 20,
  failureWindowMs: 1000,
  ejectionBaseMs: 100,
  ejectionMaxMs: 250,
};

/** Lets one attempt of the target fail, `times` times. */
function fail(health: TargetHealth, nowMs: number, times = 1, mayEject = true): void {
  for (let count = 0; count < times; count += 1) health.fail(health.begin(nowMs), nowMs, mayEject);
}

function ejected(): TargetHealth {
  const health = new TargetHealth(rules);
  fail(health, 0, 3);
  return health;
}

describe('the health of a target', () => {
  it('ejects it after consecutive failures, and complete answers begin the count again', () => {
    const health = new TargetHealth(rules);
    fail(health, 0, 2);
    health.succeed(health.begin(0), 0);
    fail(health, 0, 2);
    expect(health.standing(0)).toBe('available');
    fail(health, 0);
    expect([health.standing(0), health.standing(99), health.standing(100)]).toEqual(['ejected', 'ejected', 'trial_due']);
  });

  it('keeps the cause of a credential that its vendor rejects when a trial fails', () => {
    const health = new TargetHealth({ ...rules, failuresMax: 1 }, 'credential_rejected');
    fail(health, 0);
    fail(health, 100);
    expect([health.standing(150), health.cause]).toEqual(['ejected', 'credential_rejected']);
  });

  it('does not count an answer that only began as complete', () => {
    const health = new TargetHealth(rules);
    for (let count = 0; count < 3; count += 1) {
      const ticket = health.begin(0);
      health.answer(ticket, 0);
      health.fail(ticket, 0, true);
    }
    expect(health.standing(0)).toBe('ejected');
  });

  it('admits one call as a trial, which returns it as soon as the answer begins', () => {
    const health = ejected();
    const trial = health.begin(100);
    expect([trial.isTrial, health.standing(100), health.begin(100).isTrial]).toEqual([true, 'on_trial', false]);
    health.answer(trial, 110);
    expect(health.standing(110)).toBe('available');
  });

  it('returns it without a trial if no call has needed it for as long as the longest ejection; one more failure ejects it again', () => {
    const health = ejected();
    expect([health.standing(349), health.isEjected]).toEqual(['trial_due', true]);
    expect([health.standing(350), health.isEjected]).toEqual(['available', false]);
    fail(health, 350);
    expect([health.standing(549), health.standing(550)]).toEqual(['ejected', 'trial_due']);
  });

  it('ejects it again if the answer of the trial breaks off', () => {
    const health = ejected();
    const trial = health.begin(100);
    health.answer(trial, 110);
    health.fail(trial, 120, true);
    expect(health.standing(120)).toBe('ejected');
  });

  it('ejects it for a growing time, up to the longest', () => {
    const health = ejected();
    let nowMs = 0;
    for (const expectedMs of [100, 200, 250, 250]) {
      expect(health.untilMs - nowMs).toBe(expectedMs);
      nowMs = health.untilMs;
      fail(health, nowMs);
      expect(health.standing(nowMs)).toBe('ejected');
    }
  });

  it('shortens the next ejection again with the time in service', () => {
    const health = ejected();
    fail(health, 100);
    expect(health.untilMs).toBe(300);
    health.succeed(health.begin(300), 300);
    fail(health, 500, 3);
    expect(health.untilMs).toBe(600);
  });

  it('admits another trial if the first ends without a verdict', () => {
    const health = ejected();
    const trial = health.begin(100);
    health.abandon(health.begin(100));
    expect(health.standing(100)).toBe('on_trial');
    health.abandon(trial);
    expect(health.standing(100)).toBe('trial_due');
  });

  it('ignores calls that began before the ejection', () => {
    const health = new TargetHealth(rules);
    const [good, bad] = [health.begin(0), health.begin(0)];
    fail(health, 0, 3);
    health.succeed(good, 50);
    health.fail(bad, 50, true);
    expect([health.standing(99), health.untilMs]).toEqual(['ejected', 100]);
  });

  it('ignores calls that began before the ejection once it has returned, too', () => {
    const health = new TargetHealth(rules);
    const [failing, slow] = [health.begin(0), health.begin(0)];
    fail(health, 0, 3);
    health.answer(health.begin(100), 110);
    health.fail(failing, 120, true);
    health.slow(slow, 120, true);
    expect([health.standing(120), health.recent(120)]).toEqual(['available', { calls: 0, bad: 0 }]);
  });

  it('continues a trial when the trial of an earlier ejection ends without a verdict', () => {
    const health = ejected();
    const before = health.begin(100);
    health.eject(110, 100, 'operator');
    expect(health.begin(210).isTrial).toBe(true);
    health.abandon(before);
    expect(health.standing(210)).toBe('on_trial');
  });

  it('returns it when a call for which no other target was left succeeds, and is not prolonged when such a call fails', () => {
    const health = ejected();
    fail(health, 50, 5);
    expect(health.untilMs).toBe(100);
    health.succeed(health.begin(60), 70);
    expect(health.standing(70)).toBe('available');
  });

  it('keeps it in service if too many others are ejected, even after a failed trial', () => {
    const health = new TargetHealth(rules);
    fail(health, 0, 10, false);
    expect(health.standing(0)).toBe('available');
    fail(health, 0);
    expect(health.standing(0)).toBe('ejected');
    fail(health, 100, 1, false);
    expect(health.standing(100)).toBe('available');
  });

  it('ejects it for a share of failures in the window, however they alternate with complete answers', () => {
    const health = new TargetHealth(rules);
    const answer = (nowMs: number) => health.succeed(health.begin(nowMs), nowMs);
    for (let pair = 0; pair < 9; pair += 1) {
      answer(pair);
      fail(health, pair);
    }
    answer(10);
    expect(health.standing(10)).toBe('available');
    fail(health, 10);
    expect([health.standing(10), health.cause]).toEqual(['ejected', 'failure_rate']);
    const trial = health.begin(200);
    health.succeed(trial, 200);
    fail(health, 200);
    expect(health.standing(200)).toBe('available');
  });

  it('does not eject it for failures that are older than the window, or among many complete answers', () => {
    const health = new TargetHealth(rules);
    for (let pair = 0; pair < 100; pair += 1) {
      const nowMs = pair * 60;
      health.succeed(health.begin(nowMs), nowMs);
      fail(health, nowMs);
    }
    for (let call = 0; call < 100; call += 1) {
      if (call % 3 === 0) fail(health, 10_000);
      else health.succeed(health.begin(10_000), 10_000);
    }
    expect(health.standing(10_000)).toBe('available');
  });

  it('ejects it for answers that begin late, even if they are complete', () => {
    const health = new TargetHealth(rules);
    for (let call = 0; call < 30 && !health.isEjected; call += 1) {
      const ticket = health.begin(call);
      if (call % 2 === 1) health.slow(ticket, call, true);
      health.succeed(ticket, call);
    }
    expect([health.standing(20), health.cause, health.failures]).toEqual(['ejected', 'slow_first_tokens', 0]);
    const trial = health.begin(200);
    health.slow(trial, 210, true);
    health.succeed(trial, 220);
    expect([health.standing(220), health.cause, health.untilMs]).toEqual(['ejected', 'failed_trial', 410]);
  });

  it('cools it down for as long as the vendor says, or for a growing time, without counting a failure', () => {
    const health = new TargetHealth(rules);
    health.coolDown(health.begin(0), 0, 5000);
    expect([health.standing(4999), health.standing(5000), health.failures]).toEqual(['cooling', 'available', 0]);
    health.coolDown(health.begin(5000), 5000, undefined);
    expect([health.standing(6999), health.standing(7000)]).toEqual(['cooling', 'available']);
    health.succeed(health.begin(7000), 7000);
    health.coolDown(health.begin(7000), 7000, undefined);
    expect([health.standing(7999), health.standing(8000)]).toEqual(['cooling', 'available']);
  });

  it('cools down for the longest of several times, and for some time if the vendor says 0', () => {
    const health = new TargetHealth(rules);
    health.coolDown(health.begin(0), 0, 5000);
    health.coolDown(health.begin(0), 10, 1000);
    expect([health.standing(4999), health.standing(5000)]).toEqual(['cooling', 'available']);
    health.succeed(health.begin(5000), 5000);
    health.coolDown(health.begin(5000), 5000, 0);
    expect([health.standing(5999), health.standing(6000)]).toEqual(['cooling', 'available']);
  });

  it('delays its trial while probes fail, but not forever, and makes it due once a probe succeeds, until a trial fails', () => {
    const health = ejected();
    health.noteProbe(false, 50, 90);
    expect([health.standing(150), health.standing(190)]).toEqual(['ejected', 'trial_due']);
    health.noteProbe(false, 50, 185);
    expect(health.untilMs).toBe(250);
    health.noteProbe(true, 50, 200);
    expect(health.standing(200)).toBe('trial_due');
    fail(health, 200);
    health.noteProbe(true, 50, 210);
    expect(health.standing(210)).toBe('ejected');
    health.eject(300, 1000, 'operator');
    health.noteProbe(true, 50, 310);
    expect(health.standing(310)).toBe('ejected');
  });

  it('returns it when the operator says so', () => {
    const health = ejected();
    health.reset(10);
    expect(health.standing(10)).toBe('available');
    fail(health, 10, 2);
    expect(health.standing(10)).toBe('available');
  });
});
