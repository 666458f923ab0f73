import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase } from '#kit/db/open.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { newId } from '#kit/id.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { Account, AccountState } from '#proto/auth/v1/auth.js';
import { migrations } from '../migrations/index.js';
import { AccountStore } from './accounts.js';
import { type Change, ChangeStore, nextChangeNumber } from './changes.js';

/** Returns the names of the accounts; each is followed by its default project. */
const accountNames = (changes: readonly Change[]): (string | undefined)[] =>
  changes.flatMap(({ changed }) => (changed?.$case === 'account' ? [changed.value.name] : []));

describe.each(testEngines)('the order of changes on %s', (engine) => {
  let test: TestDatabase;
  let readerDb: Database;
  let accounts: AccountStore;
  let reader: ChangeStore;
  beforeAll(async () => {
    test = await createTestDatabase(engine);
    await migrate(test.db, migrations);
    readerDb = openDatabase(test.url);
    accounts = new AccountStore(test.db);
    reader = new ChangeStore(readerDb);
  });
  afterAll(async () => {
    await readerDb.close();
    await test.drop();
  });

  const unaudited = async (): Promise<void> => undefined;
  const account = (name: string): Account =>
    Account.fromPartial({ id: newId('acct'), name, state: AccountState.ACCOUNT_STATE_ACTIVE, createdAtMs: 1n, version: 1n });
  const namesAfter = async (number: number): Promise<(string | undefined)[]> =>
    accountNames((await reader.changesAfter(number, 100)).changes);

  it('shows no later change before an earlier one that commits late', async () => {
    const before = await reader.lastNumber();
    const early = account('early');
    await accounts.add(early, undefined, unaudited);
    const start = before + 2;

    const { promise: mayCommit, resolve: commitEarly } = Promise.withResolvers<void>();
    const { promise: taken, resolve: noteTaken } = Promise.withResolvers<void>();
    const earlyCommit = test.db.transaction(async (tx) => {
      const changeNumber = await nextChangeNumber(tx);
      await tx('account').where({ name: 'early' }).update({ change_number: changeNumber });
      noteTaken();
      await mayCommit;
    });
    await taken;
    const lateCommit = accounts.add(account('late'), undefined, unaudited);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await namesAfter(start)).toEqual([]);

    commitEarly();
    await Promise.all([earlyCommit, lateCommit]);
    expect(await namesAfter(start)).toEqual(['early', 'late']);
  });

  it('returns the latest state once for an object that changed several times', async () => {
    const start = await reader.lastNumber();
    const changing = account('first name');
    await accounts.add(changing, undefined, unaudited);
    await accounts.add(account('other'), undefined, unaudited);
    await accounts.change(Buffer.from(changing.id.slice('acct_'.length), 'hex'), (now) => ({ ...now, name: 'second name' }), unaudited);
    expect(await namesAfter(start)).toEqual(['other', 'second name']);
  });

  it('is read in limited steps without a gap between them', async () => {
    const start = await reader.lastNumber();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await accounts.add(account(name), undefined, unaudited);
    const seen: (string | undefined)[] = [];
    let cursor = start;
    let steps = 0;
    for (let more = true; more; steps += 1) {
      const batch = await reader.changesAfter(cursor, 2);
      expect(batch.changes.length).toBeLessThanOrEqual(2);
      seen.push(...accountNames(batch.changes));
      ({ upTo: cursor, more } = batch);
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(steps).toBe(5);
    expect(cursor).toBe(await reader.lastNumber());
  });
});
