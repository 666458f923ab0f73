// Which caller is admitted to which RPC, for which accounts and users, as seen through a decorated service.
import { describe, expect, it } from '@jest/globals';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import type { AppError } from '#client/errors/app-error.js';
import { recordingLogger } from '../../testing/log.js';
import { testActorSigner } from '../../testing/actor-tokens.js';
import { type Probe, probe, probeService, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { failureOf, untilTrue } from '../../testing/waiting.js';
import { type Actor, callContext, type CallContext } from '#client/call-context.js';
import { scopes } from '#rules/access/scopes.js';
import { decorateOperations, decorateService } from '../chain/standard-chain.js';
import { Access } from './access.js';
import type { RegisteredCaller } from './caller-directory.js';
import type { AccessRule } from './rules.js';

const rpc = 'tollgate.test.v1.ProbeService';
const open: AccessRule = { grant: 'test.read' };

/** Returns an echo service behind this rule, and a function that calls it. */
function echoBehind(rule: AccessRule, access = accessWith({ Echo: rule })) {
  const service = decorateService(ProbeServiceDefinition, probeService({ echo: async (request) => request }), {
    access,
    log: recordingLogger().log,
  });
  const call = (caller: string, request: object = probe('x'), more: Partial<CallContext> = {}): Promise<unknown> =>
    service.echo(request as never, { ...callContext({ caller }), ...more });
  return { access, call };
}

function accessWith(rules: Record<string, AccessRule>, forUsers = false): Access {
  const all = Object.fromEntries(['Echo', 'Count', 'WatchTicks', 'Converse'].map((name) => [`${rpc}/${name}`, rules[name] ?? open]));
  return new Access({
    table: all,
    builtIn: { operator: { grants: 'all', forUsers: false }, gateway: { grants: ['test.read', 'test.write'], forUsers } },
  });
}

function registered(name: string, changes: Partial<RegisteredCaller> = {}): RegisteredCaller {
  return { name, identity: `CN=${name}`, grants: new Set(['test.read']), accountIds: undefined, certificates: [], version: 1n, ...changes };
}

function know(access: Access, ...callers: RegisteredCaller[]): void {
  access.callers.reset(callers);
  access.callers.confirm();
}

describe('a grant', () => {
  it('admits, and the error without it names the grant and the command that adds it', async () => {
    const { access, call } = echoBehind({ grant: 'test.write' });
    know(access, registered('billing-team'), registered('writer', { grants: new Set(['test.write']) }));
    await call('writer');
    await call('gateway');
    await call('operator');
    expect(await failureOf(call('billing-team'))).toMatchObject({
      reason: 'peer_not_permitted',
      message:
        '"billing-team" lacks the grant "test.write". An operator can add it: ./tollgate caller update billing-team --may test.write',
    });
    expect(await failureOf(call('stranger'))).toMatchObject({
      reason: 'peer_not_permitted',
      message: '"stranger" is not a known caller. An operator can add it: ./tollgate caller add stranger --may test.write',
    });
  });

  it('takes effect from the next call on, and ends when the caller is removed', async () => {
    const { access, call } = echoBehind({ grant: 'test.write' });
    know(access, registered('team'));
    await failureOf(call('team'));
    access.callers.put(registered('team', { grants: new Set(['test.write']), version: 3n }));
    await call('team');
    // A change that arrives late is older than the known one.
    access.callers.put(registered('team', { version: 2n }));
    await call('team');
    access.callers.put(registered('team', { version: 4n }), true);
    expect(await failureOf(call('team'))).toMatchObject({ reason: 'peer_not_permitted' });
  });

  it('of a registered caller counts only while changes arrive; built-in callers are still admitted', async () => {
    const { access, call } = echoBehind(open);
    access.callers.reset([registered('team')]);
    expect(await failureOf(call('team'))).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 1000 });
    access.callers.confirm();
    await call('team');
    access.callers.lose();
    expect(await failureOf(call('team'))).toMatchObject({ reason: 'service_unavailable' });
    await call('gateway');
  });

  it('of a registered caller does not count once nothing has arrived for a second, which is reported', async () => {
    const { access, call } = echoBehind(open);
    know(access, registered('team'));
    let reports = 0;
    access.callers.onChange(() => (reports += 1));
    await call('team');
    await untilTrue(() => reports > 0);
    expect(reports).toBe(1);
    expect(await failureOf(call('team'))).toMatchObject({ reason: 'service_unavailable' });
  });

  it('is required by every RPC: an RPC without a rule is not served', () => {
    const access = new Access({ table: {}, builtIn: {} });
    expect(() => echoBehind(open, access)).toThrow(`${rpc}/Echo has no access option.`);
  });
});

describe('a certificate', () => {
  const first = 'aa'.repeat(32);
  const second = 'bb'.repeat(32);

  it('is accepted while it is one of the issued certificates', async () => {
    const { access, call } = echoBehind(open);
    know(
      access,
      registered('team', {
        certificates: [
          { sha256: second, untilMs: undefined },
          { sha256: first, untilMs: Date.now() + 60_000 },
        ],
      }),
    );
    await call('team', probe('x'), { certificateSha256: first });
    await call('team', probe('x'), { certificateSha256: second });
    access.callers.put(
      registered('team', {
        version: 2n,
        certificates: [
          { sha256: second, untilMs: undefined },
          { sha256: first, untilMs: Date.now() - 1 },
        ],
      }),
    );
    expect(await failureOf(call('team', probe('x'), { certificateSha256: first }))).toMatchObject({
      reason: 'peer_not_permitted',
      message: 'This certificate of "team" was replaced. An operator can issue a new one: ./tollgate caller rotate team',
    });
    await call('team', probe('x'), { certificateSha256: second });
  });

  it('with a SPIFFE ID identifies its registered caller by name, and no other caller of that name', async () => {
    const seen: string[] = [];
    const access = accessWith({});
    const service = decorateService(
      ProbeServiceDefinition,
      probeService({
        echo: async (request, context) => {
          seen.push(context!.caller);
          return request;
        },
      }),
      { access, log: recordingLogger().log },
    );
    know(access, registered('team', { identity: 'spiffe://corp/team' }));
    await service.echo(probe('x'), callContext({ caller: 'spiffe://corp/team' }));
    expect(seen).toEqual(['team']);
    expect(await failureOf(service.echo(probe('x'), callContext({ caller: 'team' })))).toMatchObject({ reason: 'peer_not_permitted' });
    expect(await failureOf(service.echo(probe('x'), callContext({ caller: 'spiffe://corp/other' })))).toMatchObject({
      reason: 'peer_not_permitted',
    });
  });
});

describe('a registered caller', () => {
  it('has its own grants, even under the name of a process of the installation', async () => {
    const { access, call } = echoBehind({ grant: 'test.write' });
    know(access, registered('gateway', { identity: 'spiffe://corp/gateway' }));
    // As a second check of the same call sees it, for example that of an operation of a batch.
    expect(await failureOf(call('gateway', probe('x'), { identity: 'spiffe://corp/gateway' }))).toMatchObject({
      reason: 'peer_not_permitted',
    });
    await call('gateway');
  });
});

describe('a caller that is limited to accounts', () => {
  const limited = registered('team', { accountIds: new Set(['acct_a', 'acct_b']) });
  const cases: [string, AccessRule, object, boolean][] = [
    ['its account', { grant: 'test.read', accountPath: ['accountId'] }, { accountId: 'acct_a' }, true],
    ['another account', { grant: 'test.read', accountPath: ['accountId'] }, { accountId: 'acct_c' }, false],
    ['no account', { grant: 'test.read', accountPath: ['accountId'] }, { accountId: '' }, false],
    ['its accounts, several', { grant: 'test.read', accountPath: ['accountIds'] }, { accountIds: ['acct_a', 'acct_b'] }, true],
    ['another account among several', { grant: 'test.read', accountPath: ['accountIds'] }, { accountIds: ['acct_a', 'acct_c'] }, false],
    ['none of several', { grant: 'test.read', accountPath: ['accountIds'] }, { accountIds: [] }, false],
    ['its account, nested', { grant: 'test.read', accountPath: ['call', 'accountId'] }, { call: { accountId: 'acct_b' } }, true],
    ['another account, nested', { grant: 'test.read', accountPath: ['call', 'accountId'] }, { call: { accountId: 'acct_c' } }, false],
    ['an absent message', { grant: 'test.read', accountPath: ['call', 'accountId'] }, { call: undefined }, false],
    ['items of its accounts', { grant: 'test.read', accountPath: ['items', 'accountId'] }, { items: [{ accountId: 'acct_a' }] }, true],
    [
      'an item of another account',
      { grant: 'test.read', accountPath: ['items', 'accountId'] },
      { items: [{ accountId: 'acct_a' }, { accountId: 'x' }] },
      false,
    ],
    ['data of no account', { grant: 'test.read', anyAccount: true }, {}, true],
    ['an RPC that is not about an account', { grant: 'test.read' }, {}, false],
  ];
  it.each(cases)('may name %s: %#', async (_, rule, request, isAdmitted) => {
    const { access, call } = echoBehind(rule);
    know(access, limited);
    if (isAdmitted) await call('team', request);
    else
      expect(await failureOf(call('team', request))).toMatchObject({
        reason: 'peer_not_permitted',
        message: expect.stringContaining('limited to certain accounts'),
      });
  });

  it('gets an error that names the missing account', async () => {
    const { access, call } = echoBehind({ grant: 'test.read', accountPath: ['accountId'] });
    know(access, limited);
    expect(await failureOf(call('team', { accountId: 'acct_c' }))).toMatchObject({
      message:
        '"team" is limited to certain accounts, and "acct_c" is not one of them. An operator can add it: ./tollgate caller update team --account acct_c',
    });
  });

  it('may open a stream whose operations are checked one by one', async () => {
    const { access, call } = echoBehind({ grant: '', perOperation: true });
    know(access, registered('team', { accountIds: new Set(['acct_a']) }));
    await call('team');
  });

  it('is limited to them in each operation of a batch', async () => {
    const access = new Access();
    know(access, registered('team', { grants: new Set(['ledger.hold']), accountIds: new Set(['acct_a']) }));
    const { release, settle } = decorateOperations(
      LedgerServiceDefinition,
      { release: async () => ({ hold: undefined }), settle: async () => ({ hold: undefined, entry: undefined }) as never },
      ['release', 'settle'],
      { access, log: recordingLogger().log },
    );
    const context = callContext({ caller: 'team' });
    await release({ holdId: 'h', accountId: 'acct_a' }, context);
    expect(await failureOf(release({ holdId: 'h', accountId: 'acct_b' }, context))).toMatchObject({ reason: 'peer_not_permitted' });
    expect(await failureOf(settle({ holdId: 'h', accountId: 'acct_a', costNanoUsd: 1n, keyId: '' }, context))).toMatchObject({
      reason: 'peer_not_permitted',
    });
  });
});

describe('a management key', () => {
  const key = (...scopes: string[]): { actor: Actor } => ({
    actor: {
      userId: 'user_1',
      sessionId: 'mkey_1',
      email: 'ada@example.com',
      isOperator: false,
      roles: new Map([['acct_a', 'owner']]),
      projectRoles: new Map(),
      clientAddress: '',
      managementKey: { id: 'mkey_1', name: 'CI', scopes: new Set(scopes) },
    },
  });
  const request = { accountId: 'acct_a' };
  const rule: AccessRule = { grant: 'test.write', role: 'developer', accountPath: ['accountId'], scopes: ['keys:write', 'usage:read'] };

  it.each([true, false])('needs one of the scopes of the RPC (forUsers: %s)', async (forUsers) => {
    const { call } = echoBehind(rule, accessWith({ Echo: rule }, forUsers));
    await call('gateway', request, key('keys:write'));
    await call('gateway', request, key('usage:read', 'billing:read'));
    expect(await failureOf(call('gateway', request, key('billing:read')))).toMatchObject({
      reason: 'role_not_permitted',
      message: expect.stringContaining('lacks the scope keys:write or usage:read'),
    });
  });

  it('needs a scope even when a registered caller uses it', async () => {
    const { access, call } = echoBehind(rule);
    know(access, registered('team', { grants: new Set(['test.write']) }));
    await call('team', request, key('keys:write'));
    expect(await failureOf(call('team', request, key('billing:read')))).toMatchObject({ reason: 'role_not_permitted' });
  });

  it('is refused by RPCs without scopes that require a user or concern an account, and by no others', async () => {
    const all = key(...scopes);
    for (const closed of [
      { ...rule, scopes: undefined },
      { grant: 'test.write', role: 'user' },
      { grant: 'test.write', accountPath: ['accountId'] },
    ]) {
      const { call } = echoBehind(closed as AccessRule, accessWith({ Echo: closed as AccessRule }, true));
      expect(await failureOf(call('gateway', request, all))).toMatchObject({ details: { rule: 'no_scope' } });
    }
    const { call } = echoBehind(open, accessWith({ Echo: open }, true));
    await call('gateway', request, all);
  });

  it('needs the role as well', async () => {
    const { call } = echoBehind(rule, accessWith({ Echo: rule }, true));
    const { actor } = key('keys:write');
    expect(await failureOf(call('gateway', request, { actor: { ...actor, roles: new Map([['acct_a', 'viewer']]) } }))).toMatchObject({
      reason: 'role_not_permitted',
    });
  });
});

describe('a caller that holds its grants for users', () => {
  const actor = (isOperator: boolean, roles: Record<string, string>, inProjects: Record<string, string> = {}): { actor: Actor } => ({
    actor: {
      userId: 'user_1',
      sessionId: 'session_1',
      email: 'ada@example.com',
      isOperator,
      roles: new Map(Object.entries(roles)),
      projectRoles: new Map([['acct_a', new Map(Object.entries(inProjects))]]),
      clientAddress: '',
    },
  });
  const rule: AccessRule = { grant: 'test.write', role: 'billing', accountPath: ['accountId'] };

  it.each([
    ['owner', true],
    ['admin', true],
    ['billing', true],
    ['developer', false],
    ['viewer', false],
  ])('needs the role in the account: %s', async (role, isAdmitted) => {
    const { call } = echoBehind(rule, accessWith({ Echo: rule }, true));
    const outcome = call('gateway', { accountId: 'acct_a' }, actor(false, { acct_a: role }));
    if (isAdmitted) await outcome;
    else expect(await failureOf(outcome)).toMatchObject({ reason: 'role_not_permitted' });
  });

  it('is refused without a user, for another account and for no account, but not for an operator', async () => {
    const { call } = echoBehind(rule, accessWith({ Echo: rule }, true));
    expect(await failureOf(call('gateway', { accountId: 'acct_a' }))).toMatchObject({ reason: 'peer_not_permitted' });
    expect(await failureOf(call('gateway', { accountId: 'acct_b' }, actor(false, { acct_a: 'owner' })))).toMatchObject({
      reason: 'role_not_permitted',
    });
    expect(await failureOf(call('gateway', { accountId: '' }, actor(false, { '': 'owner' })))).toMatchObject({
      reason: 'role_not_permitted',
    });
    await call('gateway', { accountId: 'acct_b' }, actor(true, {}));
    await call('operator', { accountId: 'acct_b' });
  });

  it('needs the role in each of the accounts that the request names', async () => {
    const ofMany: AccessRule = { ...rule, accountPath: ['items', 'accountId'] };
    const { call } = echoBehind(ofMany, accessWith({ Echo: ofMany }, true));
    const owner = actor(false, { acct_a: 'owner' });
    await call('gateway', { items: [{ accountId: 'acct_a' }] }, owner);
    for (const items of [[], [{ accountId: 'acct_a' }, { accountId: 'acct_b' }]])
      expect(await failureOf(call('gateway', { items }, owner))).toMatchObject({ reason: 'role_not_permitted' });
  });

  it.each<[string, Partial<AccessRule>, object, boolean]>([
    ['its project', { projectPath: ['projectId'] }, { projectId: 'proj_dev' }, true],
    ['a project with a lesser role', { projectPath: ['projectId'] }, { projectId: 'proj_view' }, false],
    ['another project', { projectPath: ['projectId'] }, { projectId: 'proj_other' }, false],
    ['no project', { projectPath: ['projectId'] }, { projectId: '' }, false],
    ['a project in another account', { projectPath: ['projectId'] }, { accountId: 'acct_b', projectId: 'proj_dev' }, false],
    ['another project among its own', { projectPath: ['filter', 'ids'] }, { filter: { ids: ['proj_dev', 'proj_other'] } }, false],
    ['an empty list of projects', { projectPath: ['filter', 'ids'] }, { filter: { ids: [] } }, false],
    ['what the service limits to its projects', { someProject: true }, {}, true],
    ['the whole account', {}, {}, false],
  ])('may name with a role in a project: %s', async (_, more, request, isAdmitted) => {
    const ofProject: AccessRule = { grant: 'test.write', role: 'developer', accountPath: ['accountId'], ...more };
    const { call } = echoBehind(ofProject, accessWith({ Echo: ofProject }, true));
    const member = actor(false, { acct_a: 'member' }, { proj_dev: 'developer', proj_view: 'viewer' });
    const outcome = call('gateway', { accountId: 'acct_a', ...request }, member);
    if (isAdmitted) await outcome;
    else expect(await failureOf(outcome)).toMatchObject({ reason: 'role_not_permitted' });
  });

  it('needs an operator where the role is operator, and any user where it is user', async () => {
    const { call } = echoBehind(
      { grant: 'test.write', role: 'operator' },
      accessWith({ Echo: { grant: 'test.write', role: 'operator' } }, true),
    );
    expect(await failureOf(call('gateway', {}, actor(false, { acct_a: 'owner' })))).toMatchObject({ reason: 'role_not_permitted' });
    await call('gateway', {}, actor(true, {}));
    const any = echoBehind({ grant: 'test.write', role: 'user' }, accessWith({ Echo: { grant: 'test.write', role: 'user' } }, true));
    await any.call('gateway', {}, actor(false, {}));
    expect(await failureOf(any.call('gateway', {}))).toMatchObject({ reason: 'peer_not_permitted' });
  });
});

describe('the user for whom a caller acts', () => {
  it('is the user in a valid token, and a call with an invalid token is refused', async () => {
    const signer = testActorSigner();
    const access = accessWith({});
    const seen: CallContext[] = [];
    const echo = async (request: Probe, context?: CallContext): Promise<Probe> => {
      seen.push(context!);
      return request;
    };
    const service = decorateService(ProbeServiceDefinition, probeService({ echo }), { access, log: recordingLogger().log });
    const call = (actorToken?: string, caller = 'gateway'): Promise<unknown> =>
      service.echo(probe('x'), callContext({ caller, actorToken }));
    const token = await signer.sign(Date.now());
    expect(await failureOf(call(token))).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 1000 });
    access.actors.setKeys([signer.key]);
    for (const _ of [1, 2]) await call(token);
    await call();
    expect(seen.map(({ actor }) => actor?.userId)).toEqual(['user_1', 'user_1', undefined]);
    expect(await failureOf(call(await testActorSigner().sign(Date.now())))).toMatchObject({ reason: 'actor_refused' });
    expect(await failureOf(call(token, 'operator'))).toMatchObject({ reason: 'actor_refused' });
    // For a caller with a SPIFFE ID the token contains the registered name.
    know(access, registered('team', { identity: 'spiffe://corp/team' }));
    await call(await signer.sign(Date.now(), { azp: 'team' }), 'spiffe://corp/team');
    expect(seen.at(-1)).toMatchObject({ caller: 'team', actor: { userId: 'user_1' } });
  });
});

describe('a stream', () => {
  it.each([
    ['revoked', (access: Access) => access.callers.put(registered('team', { version: 2n }), true)],
    ['no longer kept current', (access: Access) => access.callers.lose()],
  ])('ends when its caller is %s', async (_, end) => {
    const { access, texts, failed } = openStream({}, {});
    await untilTrue(() => texts.length === 1);
    end(access);
    expect(['peer_not_permitted', 'service_unavailable']).toContain((await failed).reason);
  });

  it('ends with the refusal when its method returns because the caller was revoked', async () => {
    const { access, texts, failed } = openStream({}, {}, 'returns');
    await untilTrue(() => texts.length === 1);
    access.callers.put(registered('team', { version: 2n }), true);
    expect(await failed).toMatchObject({ reason: 'peer_not_permitted' });
  });

  it('ends when its certificate is no longer accepted', async () => {
    const certificateSha256 = 'aa'.repeat(32);
    const certificates = [{ sha256: certificateSha256, untilMs: Date.now() + 100 }];
    const { texts, failed } = openStream({ certificates }, { certificateSha256 });
    expect(await failed).toMatchObject({ reason: 'peer_not_permitted', message: expect.stringContaining('was replaced') });
    expect(texts).toEqual(['1']);
  });

  /** Opens a stream that ends only when it is aborted. */
  function openStream(caller: Partial<RegisteredCaller>, context: Partial<CallContext>, whenAborted: 'throws' | 'returns' = 'throws') {
    const access = accessWith({});
    know(access, registered('team', caller));
    const service = decorateService(
      ProbeServiceDefinition,
      probeService({
        async *watchTicks(_request, context) {
          yield probe('1');
          await new Promise((resolve) => context!.signal.addEventListener('abort', resolve));
          if (whenAborted === 'throws') throw context!.signal.reason as AppError;
        },
      }),
      { access, log: recordingLogger().log },
    );
    const texts: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { text } of service.watchTicks(probe(''), { ...callContext({ caller: 'team' }), ...context })) texts.push(text);
    };
    return { access, texts, failed: failureOf(read()) };
  }
});
