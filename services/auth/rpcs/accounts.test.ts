import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { AccountState, CreateAccountRequest, ListAccountsRequest, UpdateAccountRequest } from '#proto/auth/v1/auth.js';
import { newAccount, operator, startTestAuth, type TestAuth } from '../testing/auth.js';
import { maskOf } from '../testing/mask-of.js';

describe.each(testEngines)('accounts on %s', (engine) => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
  });
  afterAll(() => auth.stop());

  const create = (fields: Partial<CreateAccountRequest>) => auth.service.createAccount(CreateAccountRequest.fromPartial(fields), operator);
  const update = (fields: Partial<UpdateAccountRequest>) =>
    auth.service.updateAccount(
      UpdateAccountRequest.fromPartial({ ...fields, updateMask: maskOf(fields).filter((path) => path !== 'account_id') }),
      operator,
    );
  const get = async (accountId: string) => (await auth.service.getAccount({ accountId }, operator)).account;

  it('are created active and found by their id', async () => {
    const account = await newAccount(auth.service, 'Zoë & 友だち');
    expect(account).toMatchObject({
      name: 'Zoë & 友だち',
      state: AccountState.ACCOUNT_STATE_ACTIVE,
      version: 1n,
      createdAtMs: BigInt(auth.clock.nowMs()),
    });
    expect(await get(account.id)).toEqual(account);
  });

  it('are created once however often the call is repeated', async () => {
    const calls = Array.from({ length: 8 }, () => create({ name: 'Once', idempotencyKey: 'once' }));
    const ids = new Set((await Promise.all(calls)).map((response) => response.account?.id));
    expect(ids.size).toBe(1);
    const again = await create({ name: 'Once', idempotencyKey: 'once' });
    expect(ids.has(again.account?.id)).toBe(true);
    expect(await auth.db.knex('account').where({ name: 'Once' })).toHaveLength(1);
  });

  it('are rejected with an idempotency key that created another account', async () => {
    await create({ name: 'First', idempotencyKey: 'taken' });
    await expect(create({ name: 'Second', idempotencyKey: 'taken' })).rejects.toMatchObject({ reason: 'idempotency_mismatch' });
    expect(await auth.db.knex('account').where({ name: 'Second' })).toHaveLength(0);
  });

  it('are renamed, suspended and resumed, with a new version each time', async () => {
    const { id } = await newAccount(auth.service);
    await update({ accountId: id, name: 'Countess' });
    const stateOf = async (accountId: string) => (await auth.service.getAccountState({ accountId }, operator)).state;
    expect(await stateOf(id)).toBe(AccountState.ACCOUNT_STATE_ACTIVE);
    await update({ accountId: id, state: AccountState.ACCOUNT_STATE_SUSPENDED });
    expect(await stateOf(id)).toBe(AccountState.ACCOUNT_STATE_SUSPENDED);
    await expect(stateOf(newId('acct'))).rejects.toMatchObject({ reason: 'not_found' });
    expect(await get(id)).toMatchObject({ name: 'Countess', state: AccountState.ACCOUNT_STATE_SUSPENDED, version: 3n });
    await update({ accountId: id, state: AccountState.ACCOUNT_STATE_ACTIVE });
    expect(await get(id)).toMatchObject({ name: 'Countess', state: AccountState.ACCOUNT_STATE_ACTIVE, version: 4n });
  });

  it('keep their version when nothing changes', async () => {
    const { id } = await newAccount(auth.service, 'Same');
    const { account } = await update({ accountId: id, name: 'Same', state: AccountState.ACCOUNT_STATE_ACTIVE });
    expect(account?.version).toBe(1n);
  });

  it('get one version per change, even when changes are concurrent', async () => {
    const { id } = await newAccount(auth.service);
    await Promise.all(Array.from({ length: 10 }, (_, index) => update({ accountId: id, name: `Name ${index}` })));
    expect((await get(id))?.version).toBe(11n);
  });

  it('are not_found when they do not exist', async () => {
    const accountId = newId('acct');
    await expect(get(accountId)).rejects.toMatchObject({ reason: 'not_found', details: { what: 'account' } });
    await expect(update({ accountId, name: 'x' })).rejects.toMatchObject({ reason: 'not_found' });
  });

  it.each([
    ['an empty name', { name: '' }, 'name'],
    ['a blank name', { name: '   ' }, 'name'],
    ['a name of 201 characters', { name: 'é'.repeat(201) }, 'name'],
    ['a name with a line break', { name: 'a\nb' }, 'name'],
    ['an idempotency key of 201 characters', { name: 'a', idempotencyKey: 'k'.repeat(201) }, 'idempotency_key'],
  ])('are refused with %s', async (_, fields, field) => {
    await expect(create(fields)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });

  it('may have a name of 200 characters outside the basic plane', async () => {
    const account = await newAccount(auth.service, '🂡'.repeat(200));
    expect((await get(account.id))?.name).toBe('🂡'.repeat(200));
  });

  it('are not found by malformed ids', async () => {
    for (const accountId of ['', 'acct_1', newId('key')]) {
      await expect(get(accountId)).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'account_id' } });
    }
  });

  it('cannot get an unknown state', async () => {
    const { id } = await newAccount(auth.service);
    await expect(update({ accountId: id, state: 7 as AccountState })).rejects.toMatchObject({ details: { field: 'state' } });
  });
});

describe.each(testEngines)('the list of accounts on %s', (engine) => {
  let auth: TestAuth;
  const names = Array.from({ length: 5 }, (_, index) => `Account ${index}`);
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    for (const name of names) {
      await newAccount(auth.service, name);
      auth.clock.advance(1);
    }
  });
  afterAll(() => auth.stop());

  const list = (fields: Partial<ListAccountsRequest>) => auth.service.listAccounts(ListAccountsRequest.fromPartial(fields), operator);

  it('has pages in order of creation, with each account once', async () => {
    const seen: string[] = [];
    const sizes: number[] = [];
    let pageToken = '';
    do {
      const page = await list({ pageSize: 2, pageToken });
      seen.push(...page.accounts.map((account) => account.name));
      sizes.push(page.accounts.length);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(seen).toEqual(names);
    expect(sizes).toEqual([2, 2, 1]);
  });

  it('has no next page when the last page is exactly full', async () => {
    expect((await list({ pageSize: 5 })).nextPageToken).toBe('');
  });

  it('has a page of a hundred by default', async () => {
    expect((await list({})).accounts).toHaveLength(5);
  });

  it('rejects page tokens that it did not return, and too large pages', async () => {
    const keyToken = Buffer.from(newId('key')).toString('base64url');
    for (const pageToken of ['nonsense', '%', keyToken]) {
      await expect(list({ pageToken })).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'page_token' } });
    }
    await expect(list({ pageSize: 1001 })).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'page_size' } });
  });
});
