import { beforeEach, describe, expect, it } from '@jest/globals';
import { deadConnectionMsMax } from '#client/grpc/grpc-wire.js';
import { ManualClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { meteringSettings } from '../config.js';
import { LeaseGrace } from './lease-grace.js';

const settings = { leaseMs: 30_000, lostGraceMs: 300_000, sweepIntervalMs: 1000 };

it('lasts, like a lease, at least twice as long by default as a gateway takes to detect a dead connection', () => {
  expect(deadConnectionMsMax).toBeLessThanOrEqual(parseSettings(meteringSettings, {}).leaseMs / 2);
});

describe('the grace period', () => {
  let clock: ManualClock;
  let grace: LeaseGrace;

  beforeEach(() => {
    clock = new ManualClock();
    grace = new LeaseGrace(clock, settings, clock);
    pass(300_000, 1000);
  });

  /** Lets time pass while the database answers this often. */
  function pass(ms: number, everyMs: number): void {
    for (let passedMs = 0; passedMs < ms; passedMs += everyMs) {
      clock.advance(everyMs);
      grace.noteAvailable();
    }
  }

  const state = (): object => ({ isOn: grace.isOn(), isAwaitingReports: grace.isAwaitingReports() });

  it('begins with the process, however long the machine has been running', () => {
    grace = new LeaseGrace(clock, settings, clock);
    expect(state()).toEqual({ isOn: true, isAwaitingReports: true });
    pass(300_000, 1000);
    expect(state()).toEqual({ isOn: false, isAwaitingReports: false });
  });

  it('lasts one lease, and for reports as long as lost calls wait for them', () => {
    expect(state()).toEqual({ isOn: false, isAwaitingReports: false });
    grace.begin();
    pass(29_000, 1000);
    expect(state()).toEqual({ isOn: true, isAwaitingReports: true });
    pass(1000, 1000);
    expect(state()).toEqual({ isOn: false, isAwaitingReports: true });
    pass(269_000, 1000);
    expect(state()).toEqual({ isOn: false, isAwaitingReports: true });
    pass(1000, 1000);
    expect(state()).toEqual({ isOn: false, isAwaitingReports: false });
  });

  it('begins when metering or its database continues after a pause', () => {
    pass(16_000, 16_000);
    expect(state()).toEqual({ isOn: false, isAwaitingReports: false });
    clock.advance(16_001);
    grace.noteAvailable();
    expect(state()).toEqual({ isOn: true, isAwaitingReports: true });
  });

  it('begins when the wall clock is set', () => {
    clock.step(1000);
    expect(state()).toEqual({ isOn: false, isAwaitingReports: false });
    clock.step(-1001);
    expect(state()).toEqual({ isOn: true, isAwaitingReports: true });
  });
});
