import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { longEndToEndTests, slowUnitTests } from './durations.js';
import Sequencer, { ownProcess } from './sequencer.js';

const order = (maxWorkers: number, ...names: string[]): string[] => {
  const sequencer = new Sequencer({ contexts: [], globalConfig: { maxWorkers } } as never);
  const tests = names.map((name) => ({ path: `/checkout/${name}`, context: { config: { rootDir: '/checkout' } } }));
  return (sequencer.sort(tests as never) as unknown as typeof tests).map(({ path }) => path.slice('/checkout/'.length));
};

describe('the order of test files', () => {
  it('names files that exist', () => {
    const named = [...Object.keys({ ...slowUnitTests, ...longEndToEndTests }), ...ownProcess];
    expect(named.filter((path) => !existsSync(join(import.meta.dirname, '../../..', path)))).toEqual([]);
  });

  it('starts with the files after which a process ends, then the long ones', () => {
    expect(
      order(1, 'tests/operations/trace.test.ts', 'tests/calls/streams.test.ts', 'tests/operations/outages.test.ts', ownProcess[0]!),
    ).toEqual([ownProcess[0], 'tests/operations/outages.test.ts', 'tests/calls/streams.test.ts', 'tests/operations/trace.test.ts']);
  });

  it('runs browser tests in half of the workers while there are others', () => {
    const [pages, operator, home] = ['tests/console/every-page.test.ts', 'tests/console/operator.test.ts', 'tests/console/home.test.ts'];
    expect(order(2, operator!, 'tests/calls/streams.test.ts', 'tests/kill/kill.test.ts', pages!, home!)).toEqual([
      pages,
      'tests/kill/kill.test.ts',
      'tests/calls/streams.test.ts',
      operator,
      home,
    ]);
  });
});
