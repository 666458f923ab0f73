import { describe, expect, test } from '@jest/globals';
import { type Model, simulate } from './model.ts';

const machine = { name: 'machine', cores: 1 };
const station = { name: 'server', machine: 'machine', threads: 1 };
const model: Model = {
  seed: 1,
  machines: [machine],
  stations: [station],
  route: () => [{ station: 'server', us: 1000 }],
  arrivals: { kind: 'closed', callers: 4 },
  seconds: 10,
};

/** Work of exponential length, for which queueing theory has formulas. */
const exponential = (random: () => number): [{ station: string; us: number }] => [
  { station: 'server', us: -Math.log(1 - random()) * 1000 },
];

describe('simulate', () => {
  test('a saturated server does one call after another', () => {
    const { callsPerSecond, p50Ms, busy, cores } = simulate(model);
    expect(callsPerSecond).toBeCloseTo(1000, -1);
    expect(p50Ms).toBeCloseTo(4, 6);
    expect(busy['server']).toBeCloseTo(1, 6);
    expect(cores['machine']).toBeCloseTo(1, 6);
  });

  test('follows the formulas of M/M/1 for waiting times', () => {
    const arrivals = { kind: 'random', callsPerSecond: 700 } as const;
    const { p50Ms, p99Ms, busy } = simulate({ ...model, route: exponential, arrivals, seconds: 400 });
    // The time in the system is exponential with the mean 1 / (1000 − 700) s.
    const meanMs = 1000 / 300;
    expect(busy['server']!).toBeCloseTo(0.7, 1);
    expect(Math.abs(p50Ms / (Math.LN2 * meanMs) - 1)).toBeLessThan(0.1);
    expect(Math.abs(p99Ms / (Math.log(100) * meanMs) - 1)).toBeLessThan(0.1);
  });

  test('two threads on one core are no faster than one', () => {
    const two = { ...station, threads: 2 };
    expect(simulate({ ...model, stations: [two] }).callsPerSecond).toBeCloseTo(1000, -1);
    expect(simulate({ ...model, stations: [two], machines: [{ ...machine, cores: 2 }] }).callsPerSecond).toBeCloseTo(2000, -1);
  });

  test('calls that wait share a commit', () => {
    const route = (): { station: string; us: number }[] => [{ station: 'server', us: 10 }];
    const batch = { max: 100, commitUs: 90, syncUs: 900 };
    const outcome = simulate({ ...model, stations: [{ ...station, batch }], route, arrivals: { kind: 'closed', callers: 10 } });
    // A commit of ten calls takes 100 + 90 + 900 µs, and the disk's part of it uses no core.
    expect(outcome.batchSize['server']).toBeCloseTo(10, 1);
    expect(outcome.callsPerSecond).toBeCloseTo(10e6 / 1090, -2);
    expect(outcome.cores['machine']).toBeCloseTo(190 / 1090, 2);
  });

  test('a thread that was idle costs more', () => {
    const stations = [{ ...station, coldUs: 500 }];
    expect(simulate({ ...model, stations, arrivals: { kind: 'even', callsPerSecond: 10 } }).p50Ms).toBeCloseTo(1.5, 1);
    expect(simulate({ ...model, stations }).callsPerSecond).toBeCloseTo(1000, -1);
  });

  test('shows saturation as calls that stay open', () => {
    expect(simulate({ ...model, arrivals: { kind: 'even', callsPerSecond: 900 } }).openCalls).toBeLessThan(2);
    expect(simulate({ ...model, arrivals: { kind: 'even', callsPerSecond: 1100 } }).openCalls).toBeGreaterThan(900);
  });

  test('time at a vendor uses no core', () => {
    const route = (): { delayUs: number }[] => [{ delayUs: 20_000 }];
    const { callsPerSecond, cores } = simulate({ ...model, route });
    expect(callsPerSecond).toBeCloseTo(200, -1);
    expect(cores['machine']).toBe(0);
  });

  test('the same seed gives the same result, another seed another', () => {
    const random: Model = { ...model, route: exponential, arrivals: { kind: 'random', callsPerSecond: 800 } };
    expect(simulate(random)).toEqual(simulate(random));
    expect(simulate(random).p99Ms).not.toBe(simulate({ ...random, seed: 2 }).p99Ms);
  });
});
