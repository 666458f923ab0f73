// How operators search for accounts.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { type Account, AccountState, type DeepPartial, ListAccountsRequest, UpdateAccountRequest } from '#proto/auth/v1/auth.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from '../testing/auth.js';
import { maskOf } from '../testing/mask-of.js';

describe.each(testEngines)('a search for accounts on %s', (engine) => {
  let auth: TestAuth;
  const accounts: Account[] = [];
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    for (const name of ['Acme Ltd', 'Zoë Ärzte', 'acme_labs', '100% Ltd', '友だち']) {
      auth.clock.advance(1000);
      accounts.push(await newAccount(auth.service, name));
    }
  });
  afterAll(() => auth.stop());

  const list = (fields: DeepPartial<ListAccountsRequest>) => auth.service.listAccounts(ListAccountsRequest.fromPartial(fields), operator);
  const names = async (fields: DeepPartial<ListAccountsRequest>) => (await list(fields)).accounts.map(({ name }) => name);

  it('finds a part of the name in any case, and treats wildcards as plain text', async () => {
    expect(await names({ search: ' ACME ' })).toEqual(['Acme Ltd', 'acme_labs']);
    expect(await names({ search: 'ärz' })).toEqual(['Zoë Ärzte']);
    expect(await names({ search: '%' })).toEqual(['100% Ltd']);
    expect(await names({ search: '_' })).toEqual(['acme_labs']);
    expect(await names({ search: '友' })).toEqual(['友だち']);
    expect(await names({ search: 'nobody' })).toEqual([]);
  });

  it('finds an id by its first digits', async () => {
    const { id } = accounts[2]!;
    expect(await names({ search: id })).toEqual(['acme_labs']);
    // The first twelve digits are the time.
    expect(await names({ search: id.slice(0, 'acct_'.length + 12) })).toEqual(['acme_labs']);
    expect(await names({ search: 'acct_' })).toHaveLength(5);
    await expect(list({ search: 'acct_XYZ' })).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'search' } });
    await expect(list({ search: 'x'.repeat(201) })).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'search' } });
  });

  it('finds accounts by the new name after a rename', async () => {
    const { id } = await newAccount(auth.service, 'Before');
    await auth.service.updateAccount(UpdateAccountRequest.fromPartial({ accountId: id, name: 'ÖTZI', updateMask: ['name'] }), operator);
    expect([await names({ search: 'before' }), await names({ search: 'ötz' })]).toEqual([[], ['ÖTZI']]);
  });

  it('pages through the results without a gap, in either order', async () => {
    for (const newestFirst of [false, true]) {
      const found: string[] = [];
      let pageToken = '';
      do {
        const page = await list({ search: 'ltd', pageSize: 1, newestFirst, pageToken });
        found.push(...page.accounts.map(({ name }) => name));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(found).toEqual(newestFirst ? ['100% Ltd', 'Acme Ltd'] : ['Acme Ltd', '100% Ltd']);
    }
  });

  it('filters by state, and shows why an account is suspended until it is active again', async () => {
    const { id } = accounts[0]!;
    const update = async (fields: DeepPartial<UpdateAccountRequest>) =>
      (
        await auth.service.updateAccount(
          UpdateAccountRequest.fromPartial({ accountId: id, ...fields, updateMask: maskOf(fields) }),
          operator,
        )
      ).account!;
    await expect(update({ state: AccountState.ACCOUNT_STATE_SUSPENDED, stateReason: 'a\nb' })).rejects.toMatchObject({
      reason: 'invalid_request',
    });
    expect(await update({ state: AccountState.ACCOUNT_STATE_SUSPENDED, stateReason: 'invoice 7 is unpaid' })).toMatchObject({
      stateReason: 'invoice 7 is unpaid',
      version: 2n,
    });
    expect(await update({ name: 'Acme Ltd' })).toMatchObject({ stateReason: 'invoice 7 is unpaid', version: 2n });
    expect(await names({ state: AccountState.ACCOUNT_STATE_SUSPENDED })).toEqual(['Acme Ltd']);
    const { secretHash } = (await auth.db
      .knex('platform_key')
      .where({ id: await keyBytes() })
      .first('secret_hash')
      .then((row) => ({ secretHash: row.secret_hash as Buffer }))) as { secretHash: Buffer };
    expect(await auth.service.authenticate({ secretHash }, operator)).toMatchObject({
      accountState: AccountState.ACCOUNT_STATE_SUSPENDED,
      accountStateReason: 'invoice 7 is unpaid',
    });
    expect(await update({ state: AccountState.ACCOUNT_STATE_ACTIVE })).toMatchObject({ stateReason: '', version: 3n });
    expect(await names({ state: AccountState.ACCOUNT_STATE_SUSPENDED })).toEqual([]);
  });

  async function keyBytes(): Promise<Buffer> {
    const { key } = await newKey(auth.service, accounts[0]!);
    return Buffer.from(key.id.slice('key_'.length), 'hex');
  }

  it('counts the keys that are not revoked, on request', async () => {
    const [, account] = accounts;
    const { key } = await newKey(auth.service, account!);
    await newKey(auth.service, account!);
    expect((await list({ search: account!.id, withKeyCounts: true })).keyCounts).toEqual([2]);
    await auth.service.revokeKey({ keyId: key.id, accountId: account!.id }, operator);
    expect((await list({ search: account!.id, withKeyCounts: true })).keyCounts).toEqual([1]);
    expect(await list({ search: '友', withKeyCounts: true })).toMatchObject({ keyCounts: [0] });
    expect(await list({ search: account!.id })).toMatchObject({ keyCounts: [] });
  });
});
