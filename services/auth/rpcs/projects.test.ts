import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CallContext, callContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import {
  type Account,
  CreateKeyRequest,
  CreateProjectRequest,
  type DeepPartial,
  ListKeysRequest,
  ListProjectsRequest,
  type Project,
  UpdateKeyRequest,
  UpdateProjectRequest,
} from '#proto/auth/v1/auth.js';
import { CreateUserRequest, Role } from '#proto/auth/v1/users.js';
import { defaultProjectId } from '#rules/default-project.js';
import { hashSecret } from '#rules/keys/key-secrets.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from '../testing/auth.js';

describe.each(testEngines)('projects on %s', (engine) => {
  let auth: TestAuth;
  let account: Account;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    account = await newAccount(auth.service);
  });
  afterAll(() => auth.stop());

  const newProject = async (fields: DeepPartial<CreateProjectRequest> = {}): Promise<Project> => {
    const request = CreateProjectRequest.fromPartial({ accountId: account.id, name: 'Search', ...fields });
    return (await auth.service.createProject(request, operator)).project!;
  };
  const update = async (projectId: string, fields: DeepPartial<UpdateProjectRequest>, updateMask: string[]): Promise<Project> => {
    const request = UpdateProjectRequest.fromPartial({ accountId: account.id, projectId, ...fields, updateMask });
    return (await auth.service.updateProject(request, operator)).project!;
  };
  const remove = (projectId: string, accountId = account.id) => auth.service.deleteProject({ projectId, accountId }, operator);
  const projectsOf = (accountId: string, fields: Partial<ListProjectsRequest> = {}) =>
    auth.service.listProjects(ListProjectsRequest.fromPartial({ accountId, ...fields }), operator);
  const move = async (keyId: string, projectId: string) => {
    const request = UpdateKeyRequest.fromPartial({ accountId: account.id, keyId, projectId, updateMask: ['project_id'] });
    return (await auth.service.updateKey(request, operator)).key!;
  };

  it('begin with the default project of an account, which keys belong to unless another is named', async () => {
    const fresh = await newAccount(auth.service, 'Fresh');
    const { projects } = await projectsOf(fresh.id);
    expect(projects).toMatchObject([{ name: 'Default', isDefault: true, accountId: fresh.id, models: { allModels: true }, version: 1n }]);
    const { key, secret } = await newKey(auth.service, fresh);
    expect(key.projectId).toBe(projects[0]!.id);
    expect(await auth.service.authenticate({ secretHash: hashSecret(secret) }, operator)).toMatchObject({ project: projects[0] });
  });

  it('are listed in pages in order of creation, with the number of keys that are not revoked', async () => {
    const fresh = await newAccount(auth.service, 'Paged');
    auth.clock.advance(1);
    const first = await newProject({ accountId: fresh.id, name: 'first' });
    auth.clock.advance(1);
    const second = await newProject({ accountId: fresh.id, name: 'second' });
    await newKey(auth.service, fresh, { projectId: second.id });
    const { key } = await newKey(auth.service, fresh, { projectId: second.id });
    await auth.service.revokeKey({ keyId: key.id, accountId: fresh.id }, operator);
    const page = await projectsOf(fresh.id, { pageSize: 2, withKeyCounts: true });
    expect(page.projects.map(({ name }) => name)).toEqual(['Default', 'first']);
    const rest = await projectsOf(fresh.id, { pageToken: page.nextPageToken, withKeyCounts: true });
    expect(rest).toMatchObject({ projects: [{ id: second.id }], keyCounts: [1], nextPageToken: '' });
    const keys = await auth.service.listKeys(ListKeysRequest.fromPartial({ accountId: fresh.id, projectId: first.id }), operator);
    expect(keys.keys).toEqual([]);
  });

  it('are created once by calls with the same idempotency key', async () => {
    const again = { name: 'Once', idempotencyKey: 'project-1' };
    expect((await newProject(again)).id).toBe((await newProject(again)).id);
    await expect(newProject({ ...again, name: 'Twice' })).rejects.toMatchObject({ reason: 'idempotency_mismatch' });
  });

  it('come with every authenticated key, with the budgets on its path', async () => {
    const project = await newProject({
      models: { modelIds: ['a/model'] },
      rateLimits: { requestsPerMinute: 60 },
      budgets: [{ period: 2, limitNanoUsd: 25_000_000_000n }],
    });
    const { key, secret } = await newKey(auth.service, account, {
      projectId: project.id,
      budgets: [{ period: 4, limitNanoUsd: 1_000_000_000n, soft: true, alertPercents: [100, 50, 100] }],
    });
    const found = await auth.service.authenticate({ secretHash: hashSecret(secret) }, operator);
    expect(found.project).toEqual(project);
    expect(found.budgets).toEqual([
      {
        id: key.budgets[0]!.id,
        scope: 3,
        scopeId: key.id,
        period: 4,
        limitNanoUsd: 10n ** 9n,
        soft: true,
        alertPercents: [50, 100],
        version: 1n,
      },
      {
        id: project.budgets[0]!.id,
        scope: 2,
        scopeId: project.id,
        period: 2,
        limitNanoUsd: 25n * 10n ** 9n,
        soft: false,
        alertPercents: [],
        version: 1n,
      },
    ]);
    const renamed = await update(project.id, { name: 'Renamed', rateLimits: undefined }, ['name', 'rate_limits']);
    expect(renamed).toMatchObject({ name: 'Renamed', version: 2n, models: { modelIds: ['a/model'] } });
    expect(renamed.rateLimits).toBeUndefined();
    expect((await update(project.id, { name: 'Renamed' }, ['name'])).version).toBe(2n);
  });

  it('keep the id of a budget when its limit changes, and end it when it is removed', async () => {
    const project = await newProject({
      budgets: [
        { period: 2, limitNanoUsd: 5n },
        { period: 1, limitNanoUsd: 9n },
      ],
    });
    const [lifetime, month] = project.budgets;
    expect([lifetime!.period, month!.period]).toEqual([1, 2]);
    const changed = await update(project.id, { budgets: [{ period: 2, limitNanoUsd: 7n }] }, ['budgets']);
    expect(changed.budgets).toEqual([{ ...month, limitNanoUsd: 7n, version: 2n }]);
    const back = await update(project.id, { budgets: [{ period: 1, limitNanoUsd: 9n }] }, ['budgets']);
    expect(back.budgets[0]!.id).not.toBe(lifetime!.id);
  });

  it('keep the keys of another project apart, and a key moves between them', async () => {
    const [here, there] = [await newProject({ name: 'here' }), await newProject({ name: 'there' })];
    const { key } = await newKey(auth.service, account, { projectId: here.id });
    expect(await move(key.id, there.id)).toMatchObject({ projectId: there.id, version: 2n });
    await expect(remove(there.id)).rejects.toMatchObject({ reason: 'failed_precondition', details: { rule: 'project_in_use' } });
    await remove(here.id);
    await expect(move(key.id, here.id)).rejects.toMatchObject({ reason: 'failed_precondition', details: { rule: 'project_deleted' } });
    expect(await move(key.id, '')).toMatchObject({ projectId: account.id.replace('acct', 'proj') });
  });

  it('are deleted once they have no keys, and stay listed for their usage', async () => {
    const project = await newProject({ name: 'Short', budgets: [{ period: 1, limitNanoUsd: 9n }] });
    const { key } = await newKey(auth.service, account, { projectId: project.id });
    await expect(remove(project.id)).rejects.toMatchObject({ details: { rule: 'project_in_use' } });
    await auth.service.revokeKey({ keyId: key.id, accountId: account.id }, operator);
    const { project: deleted } = await remove(project.id);
    expect(deleted!.deletedAtMs).toBeDefined();
    expect(await remove(project.id)).toEqual({ project: deleted });
    expect((await projectsOf(account.id)).projects).toContainEqual(deleted);
    await expect(newKey(auth.service, account, { projectId: project.id })).rejects.toMatchObject({ details: { rule: 'project_deleted' } });
    await expect(update(project.id, { name: 'x' }, ['name'])).rejects.toMatchObject({ details: { rule: 'project_deleted' } });
    const byDefault = (await projectsOf(account.id)).projects[0]!;
    await expect(remove(byDefault.id)).rejects.toMatchObject({ details: { rule: 'default_project' } });
  });

  it('are never deleted under a key that is created in them or moves to them at the same time', async () => {
    const { key: moving } = await newKey(auth.service, account);
    for (let round = 0; round < 8; round += 1) {
      const project = await newProject({ name: `race ${round}` });
      const put = round % 2 === 0 ? () => newKey(auth.service, account, { projectId: project.id }) : () => move(moving.id, project.id);
      const [removed, added] = await Promise.allSettled([remove(project.id), put()]);
      expect([removed.status, added.status].toSorted()).toEqual(['fulfilled', 'rejected']);
      const { project: now, keyCount } = await auth.service.getProject({ projectId: project.id, accountId: account.id }, operator);
      expect([now!.deletedAtMs === undefined, keyCount]).toEqual(removed.status === 'fulfilled' ? [false, 0] : [true, 1]);
    }
  });

  it('of another account are not found', async () => {
    const other = await newAccount(auth.service, 'Other');
    const project = await newProject();
    await expect(auth.service.getProject({ projectId: project.id, accountId: other.id }, operator)).rejects.toMatchObject({
      reason: 'not_found',
    });
    await expect(remove(project.id, other.id)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(newKey(auth.service, other, { projectId: project.id })).rejects.toMatchObject({ reason: 'not_found' });
    const { key } = await newKey(auth.service, account);
    await expect(move(key.id, other.id.replace('acct', 'proj'))).rejects.toMatchObject({ reason: 'not_found' });
  });

  it.each([
    [[1, 2, 3].map((period) => ({ period, limitNanoUsd: 1n })), 'budgets', 'max_items'],
    [[2, 2].map((period) => ({ period, limitNanoUsd: 1n })), 'budgets.period', 'distinct_periods'],
    [[{ period: 0, limitNanoUsd: 1n }], 'budgets.period', 'distinct_periods'],
    [[{ period: 2, limitNanoUsd: 0n }], 'budgets.limit_nano_usd', 'positive'],
    [[{ period: 2, limitNanoUsd: 1n, soft: true }], 'budgets.alert_percents', 'some_percents'],
    [[{ period: 2, limitNanoUsd: 1n, alertPercents: [0] }], 'budgets.alert_percents', 'range'],
  ])('reject budgets that cannot be kept: %#', async (budgets, field, rule) => {
    await expect(newProject({ budgets })).rejects.toMatchObject({ reason: 'invalid_request', details: { field, rule } });
  });

  it('count the lifetime limit of a key as one of its two budgets', async () => {
    const create = (fields: DeepPartial<CreateKeyRequest>) => newKey(auth.service, account, fields);
    const [month, day] = [2, 4].map((period) => ({ period, limitNanoUsd: 5n }));
    await expect(create({ lifetimeLimitNanoUsd: 9n, budgets: [month!, day!] })).rejects.toMatchObject({
      details: { field: 'budgets', rule: 'budgets_beside_limit' },
    });
    await expect(create({ budgets: [{ period: 1, limitNanoUsd: 5n }] })).rejects.toMatchObject({
      details: { field: 'budgets.period', rule: 'lifetime_of_key' },
    });
    const { key } = await create({ budgets: [month!, day!] });
    const limit = UpdateKeyRequest.fromPartial({ accountId: account.id, keyId: key.id, lifetimeLimitNanoUsd: 9n });
    await expect(auth.service.updateKey({ ...limit, updateMask: ['lifetime_limit_nano_usd'] }, operator)).rejects.toMatchObject({
      details: { rule: 'budgets_beside_limit' },
    });
    const request = { ...limit, budgets: key.budgets.slice(0, 1), updateMask: ['lifetime_limit_nano_usd', 'budgets'] };
    expect((await auth.service.updateKey(request, operator)).key).toMatchObject({ lifetimeLimitNanoUsd: 9n, budgets: [key.budgets[0]] });
  });

  it('share the time zone and the budgets of their account', async () => {
    const fresh = await newAccount(auth.service, 'Zoned');
    expect(fresh).toMatchObject({ timeZone: 'UTC', budgets: [] });
    const zone = (timeZone: string) =>
      auth.service.updateAccountBudgets({ accountId: fresh.id, budgets: [], timeZone, updateMask: ['time_zone'] }, operator);
    for (const timeZone of ['Mars/Olympus', '', '+01:00', 'Europe/Berlin '])
      await expect(zone(timeZone)).rejects.toMatchObject({ details: { field: 'time_zone' } });
    // Intl calls these Asia/Calcutta and Europe/Kiev.
    for (const name of ['Asia/Kolkata', 'Europe/Kyiv']) {
      expect((await zone(name)).account!.timeZone).toBe(name);
      expect((await auth.service.getAccount({ accountId: fresh.id }, operator)).account!.timeZone).toBe(name);
    }
    expect((await zone('asia/kolkata')).account!.timeZone).toBe('Asia/Calcutta');
    expect((await zone('europe/berlin')).account).toMatchObject({ timeZone: 'Europe/Berlin', version: 5n });
    const budget = { period: 3, limitNanoUsd: 5n, soft: false, alertPercents: [80], id: '', scope: 0, scopeId: '', version: 0n };
    const { account: changed } = await auth.service.updateAccountBudgets(
      { accountId: fresh.id, budgets: [budget], timeZone: '', updateMask: ['budgets'] },
      operator,
    );
    const { secret } = await newKey(auth.service, fresh);
    expect(await auth.service.authenticate({ secretHash: hashSecret(secret) }, operator)).toMatchObject({
      accountTimeZone: 'Europe/Berlin',
      budgets: [{ ...budget, id: changed!.budgets[0]!.id, scope: 1, scopeId: fresh.id, version: 1n }],
    });
  });

  it('that are deleted leave room for the roles of a member in others', async () => {
    const own = await newAccount(auth.service, 'Builds');
    const users = await Promise.all(
      ['ada', 'bob'].map(async (name) => {
        const request = CreateUserRequest.fromPartial({ email: `${name}@builds.example`, name });
        return (await auth.users.createUser(request, operator)).user!;
      }),
    );
    const [owner, member] = users.map(({ id }) => id) as [string, string];
    for (const [userId, role] of [
      [owner, Role.ROLE_OWNER],
      [member, Role.ROLE_MEMBER],
    ] as const)
      await auth.users.putMember({ accountId: own.id, userId, role }, operator);
    const join = async (projectId: string) => {
      const request = { accountId: own.id, userId: member, projectId, role: Role.ROLE_DEVELOPER };
      return (await auth.users.putProjectMember(request, operator)).member!.projectRoles;
    };
    const old: string[] = [];
    for (let count = 0; count < 50; count += 1) {
      const { id } = await newProject({ accountId: own.id });
      await join(id);
      old.push(id);
    }
    const next = await newProject({ accountId: own.id });
    await expect(join(next.id)).rejects.toMatchObject({ details: { field: 'project_roles' } });
    for (const id of old.slice(1)) await remove(id, own.id);
    expect(await join(old[0]!)).toHaveLength(50);
    expect(await join(next.id)).toEqual([old[0]!, next.id].map((projectId) => ({ projectId, role: Role.ROLE_DEVELOPER })));
  }, 30_000);

  describe('that log prompts', () => {
    const as = (accountId: string, role: string, isOperator = false): CallContext => ({
      ...callContext({ caller: 'gateway' }),
      actor: {
        userId: newId('user'),
        sessionId: newId('sess'),
        email: 'ada@example.com',
        isOperator,
        roles: new Map([[accountId, role]]),
        projectRoles: new Map(),
        clientAddress: '',
      },
    });
    const logFor = async (of: Account, context: CallContext, days: number): Promise<number> => {
      const projectId = defaultProjectId(of.id);
      const request = UpdateProjectRequest.fromPartial({
        accountId: of.id,
        projectId,
        promptLogDays: days,
        updateMask: ['prompt_log_days'],
      });
      return (await auth.service.updateProject(request, context)).project!.promptLogDays;
    };
    const never = (of: Account, neverLogPrompts: boolean, context: CallContext) =>
      auth.service.updateAccountPrivacy({ accountId: of.id, neverLogPrompts }, context);
    const daysOf = async (...projectIds: string[]) => (await auth.service.batchGetPromptLogDays({ projectIds }, operator)).days;

    it('do so only if an admin or owner of the account turned it on; an operator can only turn it off', async () => {
      const own = await newAccount(auth.service, 'Own');
      expect(await daysOf(defaultProjectId(own.id))).toEqual([0]);
      const admin = as(own.id, 'admin');
      const byKey = { ...admin, actor: { ...admin.actor!, managementKey: { id: '', name: '', scopes: new Set(['projects:write']) } } };
      for (const context of [operator, as(own.id, 'developer', true), as(newId('acct'), 'owner', true), byKey])
        await expect(logFor(own, context, 7)).rejects.toMatchObject({ reason: 'role_not_permitted' });
      expect(await logFor(own, admin, 7)).toBe(7);
      await expect(logFor(own, operator, 8)).rejects.toMatchObject({ reason: 'role_not_permitted' });
      await expect(logFor(own, as(own.id, 'owner'), 31)).rejects.toMatchObject({ details: { field: 'prompt_log_days' } });
      expect(await logFor(own, operator, 1)).toBe(1);
      expect(await daysOf(newId('proj'), defaultProjectId(own.id))).toEqual([0, 1]);
      expect(await logFor(own, operator, 0)).toBe(0);
    });

    it('stop when their account forbids it, which only an owner permits again, and when they are deleted', async () => {
      const own = await newAccount(auth.service, 'Private');
      const owner = as(own.id, 'owner');
      const { secret } = await newKey(auth.service, own);
      await logFor(own, owner, 30);
      await never(own, true, operator);
      expect(await daysOf(defaultProjectId(own.id))).toEqual([0]);
      const found = await auth.service.authenticate({ secretHash: hashSecret(secret) }, operator);
      expect(found).toMatchObject({ neverLogPrompts: true, project: { promptLogDays: 30 } });
      await expect(logFor(own, owner, 7)).rejects.toMatchObject({ reason: 'failed_precondition' });
      await expect(never(own, false, operator)).rejects.toMatchObject({ reason: 'role_not_permitted' });
      await expect(never(own, false, as(own.id, 'admin'))).rejects.toMatchObject({ reason: 'role_not_permitted' });
      expect((await never(own, false, owner)).account).toMatchObject({ neverLogPrompts: false });
      expect(await daysOf(defaultProjectId(own.id))).toEqual([30]);
    });
  });
});
