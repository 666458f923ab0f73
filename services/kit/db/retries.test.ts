import { describe, expect, it } from '@jest/globals';
import { retried } from './retries.js';

const failure = (properties: object): Error => Object.assign(new Error('driver'), properties);
const conflict = failure({ errno: 1213 });
const loss = failure({ code: 'PROTOCOL_CONNECTION_LOST', fatal: true });

/** How often the work runs when the transaction fails so, at its statement or at its COMMIT, and how it ends. */
async function runsOf(
  fails: (run: number) => Error | undefined,
  at: 'statement' | 'commit',
  isRepeatable?: boolean,
): Promise<[number, unknown]> {
  let runs = 0;
  const transaction = (noticed: <Tx, T>(work: (tx: Tx) => Promise<T>) => (tx: Tx) => Promise<T>): Promise<string> => {
    const error = fails((runs += 1));
    const work = noticed(async () => {
      if (at === 'statement' && error !== undefined) throw error;
      return 'done';
    });
    return work(undefined).then((result) => {
      if (error !== undefined) throw error;
      return result;
    });
  };
  const end = await retried(transaction, isRepeatable === undefined ? {} : { isRepeatable }).catch((error: unknown) => error);
  return [runs, end];
}

describe('a transaction that fails for no fault of its own', () => {
  const twice = (error: Error) => (run: number) => (run <= 2 ? error : undefined);

  it.each(['statement', 'commit'] as const)('runs again after a conflict at its %s, and at most ten times', async (at) => {
    expect(await runsOf(twice(conflict), at)).toEqual([3, 'done']);
    expect(await runsOf(() => conflict, at)).toEqual([10, conflict]);
  });

  it.each([1020, 1205])('runs again after error %d', async (errno) => {
    expect(await runsOf(twice(failure({ errno })), 'statement')).toEqual([3, 'done']);
  });

  it.each([loss, failure({ errno: 1047 }), failure({ errno: 1180 }), failure({ code: 'ETIMEDOUT' })])(
    'runs again after a loss before COMMIT, and after one during COMMIT only where that is said to be safe (%#)',
    async (error) => {
      expect(await runsOf(twice(error), 'statement')).toEqual([3, 'done']);
      expect(await runsOf(() => error, 'statement')).toEqual([4, error]);
      expect(await runsOf(twice(error), 'commit')).toEqual([1, error]);
      expect(await runsOf(twice(error), 'commit', true)).toEqual([3, 'done']);
    },
  );

  it('does not run again where no connection can be made, nor for a fault of its own', async () => {
    for (const error of [failure({ code: 'ECONNREFUSED', syscall: 'connect' }), failure({ errno: 1062 })]) {
      expect(await runsOf(() => error, 'statement', true)).toEqual([1, error]);
    }
  });
});
