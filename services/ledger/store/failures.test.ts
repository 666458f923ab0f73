import { describe, expect, it } from '@jest/globals';
import { AppError } from '#kit/errors/app-error.js';
import { openDatabase } from '#kit/db/open.js';
import { newId } from '#kit/id.js';
import { answerOf, fromDatabase } from './failures.js';
import { Reads } from './reads.js';

describe('a failure of the database', () => {
  it('is service_unavailable when nothing answers at its address', async () => {
    const db = openDatabase('mysql://nobody:nothing@127.0.0.1:1/ledger');
    await expect(new Reads(db).account(newId('acct'))).rejects.toMatchObject({ reason: 'service_unavailable' });
    await db.close();
  });

  it('is overloaded, with a time to come back, when locks or connections are not to be had', () => {
    for (const error of [{ errno: 1213 }, { errno: 1205 }, { code: 'SQLITE_BUSY' }, Object.assign(new Error('no connection'), { name: 'KnexTimeoutError' })]) {
      expect(fromDatabase(error)).toMatchObject({ reason: 'overloaded', retryAfterMs: 1000, cause: error });
    }
  });

  it('stays what it is when it is a fault of ours or a refusal', async () => {
    const refusal = new AppError('balance_empty', 'no');
    const fault = new Error('CHECK');
    expect(fromDatabase(fault)).toBe(fault);
    await expect(answerOf(Promise.reject(refusal))).rejects.toBe(refusal);
  });
});
