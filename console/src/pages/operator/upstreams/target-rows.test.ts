import { describe, expect, it } from '@jest/globals';
import type { RoutedTarget, TargetHealth } from '../../../../../gateway/console/schemas/operator/targets.js';
import { targetRows } from './target-rows.js';

const health = (fields: Partial<TargetHealth> = {}): TargetHealth => ({
  process: 'a',
  credential: null,
  state: 'available',
  cause: null,
  since: null,
  until: null,
  failures: 0,
  reason: null,
  latency_ms: null,
  recent_calls: 0,
  recent_failures: 0,
  ...fields,
});
const target = (entries: TargetHealth[], drained = false): RoutedTarget => ({
  upstream_id: 'acme',
  upstream_model: 'm',
  drained,
  drained_credentials: [],
  models: ['acme/m'],
  health: entries,
});

describe('the rows of a target', () => {
  it('show its worst state in any process, with the sums of all', () => {
    const [row, ...others] = targetRows([
      target([
        health({ recent_calls: 10, recent_failures: 1, latency_ms: 100 }),
        health({ process: 'b', state: 'ejected', until: '2027-01-01T00:00:10Z', recent_calls: 5, recent_failures: 5, latency_ms: 300 }),
        health({ process: 'c', state: 'ejected', until: '2027-01-01T00:00:20Z' }),
      ]),
    ]);
    expect(row).toMatchObject({ state: 'ejected', processes: { affected: 2, all: 3 }, calls: 15, failures: 6, latencyMs: 200 });
    expect(row!.worst!.process).toBe('c');
    expect(others).toEqual([]);
  });

  it('are followed by the rows of its credentials, each with its own state', () => {
    const rows = targetRows([target([health(), health({ credential: 'second', state: 'cooling' }), health({ credential: 'first' })])]);
    expect(rows.map(({ credential, state }) => [credential, state])).toEqual([
      [null, 'available'],
      ['first', 'available'],
      ['second', 'cooling'],
    ]);
  });

  it('show that it is drained, or that no process has called it', () => {
    expect(targetRows([target([health()], true), target([])]).map(({ state }) => state)).toEqual(['drained', 'unknown']);
    const rows = targetRows([{ ...target([health({ credential: 'second' })]), drained_credentials: ['second', 'third'] }]);
    expect(rows.map(({ credential, state }) => [credential, state])).toEqual([
      [null, 'unknown'],
      ['second', 'drained'],
      ['third', 'drained'],
    ]);
  });
});
