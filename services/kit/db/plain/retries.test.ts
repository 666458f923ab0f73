import { describe, expect, it } from '@jest/globals';
import { retried, retriedStatement } from './retries.js';

const failure = (properties: object): Error => Object.assign(new Error('driver'), properties);
const conflict = failure({ errno: 1213 });
const loss = failure({ code: 'PROTOCOL_CONNECTION_LOST', fatal: true });

/** Returns how often the work runs when the transaction fails with this error, at its statement or at its COMMIT, and the outcome. */
async function runsOf(
  fails: (run: number) => Error | undefined,
  at: 'statement' | 'commit',
  isRepeatable?: boolean,
): Promise<[number, unknown]> {
  let runs = 0;
  const transaction = (trackCommit: <Tx, T>(work: (tx: Tx) => Promise<T>) => (tx: Tx) => Promise<T>): Promise<string> => {
    const error = fails((runs += 1));
    const work = trackCommit(async () => {
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

describe('a transaction that fails because of a conflict or a lost connection', () => {
  const twice = (error: Error) => (run: number) => (run <= 2 ? error : undefined);

  it.each(['statement', 'commit'] as const)('is retried after a conflict at its %s, and runs at most ten times', async (at) => {
    expect(await runsOf(twice(conflict), at)).toEqual([3, 'done']);
    expect(await runsOf(() => conflict, at)).toEqual([10, conflict]);
  });

  it.each([1020, 1205])('is retried after error %d', async (errno) => {
    expect(await runsOf(twice(failure({ errno })), 'statement')).toEqual([3, 'done']);
  });

  it.each([loss, failure({ errno: 1047 }), failure({ errno: 1180 }), failure({ code: 'ETIMEDOUT' })])(
    'is retried after a connection loss before COMMIT, and after one during COMMIT only where declared safe (%#)',
    async (error) => {
      expect(await runsOf(twice(error), 'statement')).toEqual([3, 'done']);
      expect(await runsOf(() => error, 'statement')).toEqual([4, error]);
      expect(await runsOf(twice(error), 'commit')).toEqual([1, error]);
      expect(await runsOf(twice(error), 'commit', true)).toEqual([3, 'done']);
    },
  );

  it('is not retried when no connection can be made, nor after an error of its own', async () => {
    for (const error of [failure({ code: 'ECONNREFUSED', syscall: 'connect' }), failure({ errno: 1062 })]) {
      expect(await runsOf(() => error, 'statement', true)).toEqual([1, error]);
    }
  });
});

it('retries a statement outside a transaction after a conflict, but not after a lost connection, when it may have been committed', async () => {
  const runs = async (error: Error): Promise<[number, unknown]> => {
    let count = 0;
    const end = await retriedStatement(async () => {
      count += 1;
      if (count <= 2) throw error;
      return 'done';
    }).catch((raised: unknown) => raised);
    return [count, end];
  };
  expect(await runs(conflict)).toEqual([3, 'done']);
  expect(await runs(loss)).toEqual([1, loss]);
});
