import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { randomBytes } from 'node:crypto';
import { idToBytes, newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { type Account, CreateProjectRequest, type DeepPartial } from '#proto/auth/v1/auth.js';
import {
  CreateManagementKeyRequest,
  CreateUserRequest,
  ListAuditEventsRequest,
  Role,
  UpdateUserRequest,
  type User,
} from '#proto/auth/v1/users.js';
import { hashSecret } from '#rules/keys/key-secrets.js';
import { newAccount, operator, startTestAuth, type TestAuth } from '../testing/auth.js';

const address = '192.0.2.1';

describe.each(testEngines)('management keys on %s', (engine) => {
  let auth: TestAuth;
  let account: Account;
  let owner: User;
  let users = 0;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    account = await newAccount(auth.service);
    owner = await member(Role.ROLE_OWNER);
  });
  afterAll(() => auth.stop());

  async function user(fields: DeepPartial<CreateUserRequest> = {}): Promise<User> {
    users += 1;
    const request = CreateUserRequest.fromPartial({ email: `user${users}@example.com`, name: 'Ada', ...fields });
    return (await auth.users.createUser(request, operator)).user!;
  }
  async function member(role: Role): Promise<User> {
    const added = await user();
    await put(added, role);
    return added;
  }
  const put = ({ id: userId }: User, role: Role) => auth.users.putMember({ accountId: account.id, userId, role }, operator);
  const create = (fields: DeepPartial<CreateManagementKeyRequest> = {}) =>
    auth.users.createManagementKey(
      CreateManagementKeyRequest.fromPartial({ accountId: account.id, name: 'CI', scopes: ['keys:read'], userId: owner.id, ...fields }),
      operator,
    );
  const authenticate = (secret: string, clientAddress = address) =>
    auth.users.authenticateManagementKey({ secretHash: hashSecret(secret), clientAddress }, operator);
  const list = async () => (await auth.users.listManagementKeys({ accountId: account.id }, operator)).keys;
  const refusal = (secret: string, clientAddress?: string): Promise<string> =>
    authenticate(secret, clientAddress).then(
      () => 'admitted',
      (error: { reason: string }) => error.reason,
    );
  const project = async (name: string) =>
    (await auth.service.createProject(CreateProjectRequest.fromPartial({ accountId: account.id, name }), operator)).project!;

  it('have a secret of their own form, of which only the hash is stored, and an actor token for their user with their scopes', async () => {
    const { key, secret } = await create({ scopes: ['usage:read', 'keys:write'], allowedAddresses: ['192.0.2.0/24'] });
    expect(secret).toMatch(/^mk-tg-[0-9A-Za-z]{49}$/);
    expect(key).toMatchObject({
      name: 'CI',
      lastFour: secret.slice(-4),
      scopes: ['keys:write', 'usage:read'],
      user: { id: owner.id, email: owner.email },
    });
    expect(auth.logLines.join()).not.toContain(secret.slice(6, 30));
    const found = await authenticate(secret);
    expect(found).toMatchObject({
      key: { ...key, lastUsedAtMs: BigInt(auth.clock.nowMs()) },
      user: { id: owner.id },
      membership: { account: { id: account.id }, role: Role.ROLE_OWNER },
    });
    expect(decodeJwt(found.actorToken!.token)).toMatchObject({
      sub: owner.id,
      sid: key!.id,
      operator: false,
      roles: { [account.id]: 'owner' },
      client_address: address,
      management_key: { id: key!.id, name: 'CI', scopes: ['keys:write', 'keys:read', 'usage:read'] },
    });
    expect((await list())[0]).toEqual(found.key);
    expect(await refusal(secret.replace('mk-', 'sk-'))).toBe('key_unknown');
  });

  it('do what the present role of their user permits, and nothing once the user has none', async () => {
    const admin = await member(Role.ROLE_ADMIN);
    const { key, secret } = await create({ userId: admin.id });
    await put(admin, Role.ROLE_VIEWER);
    expect((await authenticate(secret)).membership).toMatchObject({ role: Role.ROLE_VIEWER });
    await auth.users.deleteMember({ accountId: account.id, userId: admin.id }, operator);
    await expect(authenticate(secret)).rejects.toMatchObject({ reason: 'key_disabled', details: { rule: 'management_key_orphaned' } });
    expect((await list()).filter(({ userLostAccess }) => userLostAccess).map(({ id }) => id)).toEqual([key!.id]);
    await put(admin, Role.ROLE_ADMIN);
    expect(await refusal(secret)).toBe('admitted');
    const disabled = UpdateUserRequest.fromPartial({ userId: admin.id, isDisabled: true, updateMask: ['is_disabled'] });
    await auth.users.updateUser(disabled, operator);
    expect(await refusal(secret)).toBe('key_disabled');
  });

  it('of an operator have the role of an owner in their account, and none elsewhere', async () => {
    const boss = await user({ isOperator: true });
    const { secret } = await create({ userId: boss.id });
    const { membership, actorToken } = await authenticate(secret);
    expect(membership).toMatchObject({ role: Role.ROLE_OWNER, account: { id: account.id } });
    expect(decodeJwt(actorToken!.token)).toMatchObject({ operator: false, roles: { [account.id]: 'owner' } });
  });

  it('of one project have a role only in that project', async () => {
    const [mine, other] = [await project('Search'), await project('Other')];
    const { secret } = await create({ projectId: mine.id, scopes: ['keys:write'] });
    const inProject = (role: Role) => ({ role: Role.ROLE_MEMBER, projectRoles: [{ projectId: mine.id, role }] });
    expect((await authenticate(secret)).membership).toMatchObject(inProject(Role.ROLE_DEVELOPER));
    const guest = await member(Role.ROLE_MEMBER);
    await auth.users.putProjectMember({ accountId: account.id, userId: guest.id, projectId: mine.id, role: Role.ROLE_VIEWER }, operator);
    const limited = await create({ userId: guest.id, projectId: mine.id });
    expect((await authenticate(limited.secret)).membership).toMatchObject(inProject(Role.ROLE_VIEWER));
    await expect(create({ userId: guest.id, projectId: other.id })).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('end when they are revoked, and at their expiry, and are refused from other addresses', async () => {
    const { key, secret } = await create({ expiresAtMs: BigInt(auth.clock.nowMs() + 1000), allowedAddresses: ['2001:db8::/32', address] });
    expect(await Promise.all([address, '2001:db8::9', '192.0.2.2', ''].map((from) => refusal(secret, from)))).toEqual([
      'admitted',
      'admitted',
      'address_not_permitted',
      'address_not_permitted',
    ]);
    auth.clock.advance(1000);
    expect(await refusal(secret)).toBe('key_expired');
    const request = { accountId: account.id, keyId: key!.id };
    const revoked = await auth.users.revokeManagementKey(request, operator);
    expect(revoked.key?.revokedAtMs).toBe(BigInt(auth.clock.nowMs()));
    auth.clock.advance(1000);
    expect(await auth.users.revokeManagementKey(request, operator)).toEqual(revoked);
    expect(await refusal(secret)).toBe('key_revoked');
    const stranger = await newAccount(auth.service);
    await expect(auth.users.revokeManagementKey({ ...request, accountId: stranger.id }, operator)).rejects.toMatchObject({
      reason: 'not_found',
    });
    const events = await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ targetId: key!.id, pageSize: 10 }), operator);
    expect(events.events.map(({ action }) => action)).toEqual(['management_key.revoke', 'management_key.create']);
  });

  it('are revoked once, and returned as revoked, when several users revoke them at once', async () => {
    const { key } = await create();
    const request = { accountId: account.id, keyId: key!.id };
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => auth.users.revokeManagementKey(request, operator)));
    const revoked = { key: { ...key, revokedAtMs: BigInt(auth.clock.nowMs()) } };
    expect(outcomes).toEqual(outcomes.map(() => revoked));
    const { events } = await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ targetId: key!.id, pageSize: 10 }), operator);
    expect(events.map(({ action }) => action)).toEqual(['management_key.revoke', 'management_key.create']);
  });

  it.each<[string, DeepPartial<CreateManagementKeyRequest>, string]>([
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['members:write'] }, 'scopes'],
    ['a scope twice', { scopes: ['keys:read', 'keys:read'] }, 'scopes'],
    ['a blank name', { name: ' ' }, 'name'],
    ['a malformed user', { userId: 'ada' }, 'user_id'],
    ['an expiry in the past', { expiresAtMs: 1n }, 'expires_at_ms'],
    ['a name as an address', { allowedAddresses: ['home'] }, 'allowed_addresses'],
  ])('are not created with %s', async (_, fields, field) => {
    await expect(create(fields)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });

  it('are not created for a user who does not belong to the account, or with a scope of the account for one project', async () => {
    await expect(create({ userId: (await user()).id })).rejects.toMatchObject({ reason: 'not_found', details: { what: 'member' } });
    await expect(create({ userId: newId('user') })).rejects.toMatchObject({ reason: 'not_found', details: { what: 'user' } });
    const { id: projectId } = await project('Billing');
    await expect(create({ projectId, scopes: ['billing:read'] })).rejects.toMatchObject({ details: { rule: 'project_scopes' } });
  });

  it('are at most a hundred, not counting revoked ones', async () => {
    const [full, boss] = [await newAccount(auth.service), await user({ isOperator: true })];
    const more = (name: string) => create({ accountId: full.id, userId: boss.id, name });
    const { key } = await more('first');
    for (let number = 1; number < 100; number += 1) await more(`key ${number}`);
    await expect(more('one too many')).rejects.toMatchObject({ reason: 'failed_precondition', details: { rule: 'management_keys_full' } });
    await auth.users.revokeManagementKey({ accountId: full.id, keyId: key!.id }, operator);
    await more('another');
  });

  it('are listed as long as they are valid, however many newer ones were revoked', async () => {
    const [crowded, boss] = [await newAccount(auth.service), await user({ isOperator: true })];
    const { key } = await create({ accountId: crowded.id, userId: boss.id });
    const row = (await auth.db
      .knex('management_key')
      .where({ id: idToBytes('mkey', key!.id) })
      .first())!;
    const revoked = Array.from({ length: 1000 }, () => ({
      ...row,
      id: idToBytes('mkey', newId('mkey')),
      secret_hash: randomBytes(32),
      revoked_at_ms: 1,
    }));
    await auth.db.knex.batchInsert('management_key', revoked, 50);
    const { keys } = await auth.users.listManagementKeys({ accountId: crowded.id }, operator);
    expect(keys).toHaveLength(1001);
    expect(keys.map(({ id }) => id)).toContain(key!.id);
  });
});
