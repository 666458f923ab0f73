import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  Account,
  AccountRateLimits,
  AccountState,
  type AuthenticateRequest,
  Key,
  KeyState,
  Project,
  type WatchKeysResponse,
  WatchKeysResponse_Change,
} from '#proto/auth/v1/auth.js';
import { Budget, BudgetScope } from '#proto/budget/v1/budget.js';
import { ManualClock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { collectGarbage } from '#kit/testing/garbage.js';
import { recordingLogger, silentLog } from '#kit/testing/log.js';
import { createKeyReplica, type KeyReplica } from './keys.js';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a well-formed secret, created independently of the code under test. */
function makeSecret(): string {
  const body = `sk-tg-${Array.from(randomBytes(43), (byte) => alphabet[byte % 62]).join('')}`;
  let rest = BigInt(crc32(body));
  let sum = '';
  while (sum.length < 6) {
    sum = alphabet[Number(rest % 62n)] + sum;
    rest /= 62n;
  }
  return body + sum;
}

const projectChange = (value: Project): WatchKeysResponse_Change =>
  WatchKeysResponse_Change.fromPartial({ changed: { $case: 'project', value } });

/** Auth with one key, whose pushes the test controls. */
class FakeAuth {
  secret = makeSecret();
  key = Key.fromPartial({ id: newId('key'), accountId: newId('acct'), lastFour: 'abcd', state: KeyState.KEY_STATE_ACTIVE, version: 1n });
  accountState = AccountState.ACCOUNT_STATE_ACTIVE;
  accountStateReason = '';
  accountRateLimits: AccountRateLimits | undefined;
  budgets: Budget[] = [];
  accountTimeZone = '';
  project = Project.fromPartial({ id: newId('proj'), version: 1n });
  lookUps = 0;
  /** Of the previous secret; undefined if there is none. */
  former: { secret: string; untilMs: bigint } | undefined;
  isUnavailable = false;
  private push: ((message: WatchKeysResponse) => void) | undefined;
  private fail: ((error: Error) => void) | undefined;

  async authenticate({ secretHash }: AuthenticateRequest) {
    this.lookUps += 1;
    if (this.isUnavailable) throw new AppError('service_unavailable', 'Unavailable.');
    const isHashOf = (secret: string | undefined): boolean =>
      secret !== undefined && createHash('sha256').update(secret).digest().equals(secretHash);
    if (isHashOf(this.former?.secret))
      return {
        key: this.key,
        accountState: this.accountState,
        accountStateReason: this.accountStateReason,
        accountRateLimits: this.accountRateLimits,
        secretExpiresAtMs: this.former!.untilMs,
        budgets: this.budgets,
        accountTimeZone: this.accountTimeZone,
        neverLogPrompts: false,
        project: this.project,
      };
    if (!isHashOf(this.secret)) throw new AppError('key_unknown', 'No.');
    const { key, accountState, accountStateReason, accountRateLimits, budgets, accountTimeZone, project } = this;
    return {
      key,
      accountState,
      accountStateReason,
      accountRateLimits,
      budgets,
      accountTimeZone,
      project,
      neverLogPrompts: false,
      secretExpiresAtMs: undefined,
    };
  }

  async *watchKeys(_request: object, context: CallContext): AsyncGenerator<WatchKeysResponse> {
    if (this.isUnavailable) throw new AppError('service_unavailable', 'Unavailable.');
    const queue: WatchKeysResponse[] = [{ changes: [], heartbeatIntervalMs: 250 }];
    let wake = (): void => undefined;
    let failure: Error | undefined;
    this.push = (message) => {
      queue.push(message);
      wake();
    };
    this.fail = (error) => {
      failure = error;
      wake();
    };
    context.signal.addEventListener('abort', () => wake());
    while (!context.signal.aborted) {
      const message = queue.shift();
      if (message !== undefined) yield message;
      else if (failure !== undefined) throw failure;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  async change(change: Partial<Key>): Promise<void> {
    this.key = { ...this.key, ...change, version: this.key.version + 1n };
    await this.send([WatchKeysResponse_Change.fromPartial({ changed: { $case: 'key', value: this.key } })]);
  }

  async rotate(untilMs: bigint): Promise<string> {
    this.former = { secret: this.secret, untilMs };
    this.secret = makeSecret();
    await this.change({ secretVersion: this.key.secretVersion + 1n, lastFour: this.secret.slice(-4) });
    return this.former.secret;
  }

  async suspend(): Promise<void> {
    this.accountState = AccountState.ACCOUNT_STATE_SUSPENDED;
    this.accountStateReason = 'invoice 7 is unpaid';
    const account = Account.fromPartial({ id: this.key.accountId, state: this.accountState, stateReason: this.accountStateReason });
    await this.send([WatchKeysResponse_Change.fromPartial({ changed: { $case: 'account', value: account } })]);
  }

  async send(changes: WatchKeysResponse_Change[] = []): Promise<void> {
    this.push?.({ changes, heartbeatIntervalMs: 250 });
    await sleep(5);
  }

  async cut(): Promise<void> {
    this.fail?.(new AppError('service_unavailable', 'Cut.'));
    await sleep(5);
  }
}

const client = { ip: '192.0.2.7' };

describe('the key replica', () => {
  let auth: FakeAuth;
  let clock: ManualClock;
  let keys: KeyReplica;

  beforeEach(async () => {
    auth = new FakeAuth();
    clock = new ManualClock();
    await restart(0);
  });

  async function restart(withoutAuthMs: number, log = silentLog): Promise<void> {
    await keys?.stop();
    keys = createKeyReplica({
      auth,
      clock,
      log,
      keysMax: 2,
      withoutAuthMs,
      rpcTimeoutMs: 1000,
    });
    await keys.start();
    await sleep(5);
  }

  afterEach(() => keys.stop());

  const refusalOf = (secret = auth.secret): Promise<string> =>
    keys.authenticate(secret, client).then(
      () => 'admitted',
      (error: AppError) => error.reason,
    );

  async function useAnotherKey(): Promise<void> {
    auth.secret = makeSecret();
    auth.key = { ...auth.key, id: newId('key') };
    expect(await refusalOf()).toBe('admitted');
  }

  it('queries auth once and admits from memory after that', async () => {
    for (let call = 0; call < 5; call += 1) expect(await refusalOf()).toBe('admitted');
    expect(auth.lookUps).toBe(1);
  });

  it('queries auth once for simultaneous calls', async () => {
    await Promise.all(Array.from({ length: 20 }, () => keys.authenticate(auth.secret, client)));
    expect(auth.lookUps).toBe(1);
  });

  it('refuses a malformed or mistyped key without a query', async () => {
    const mistyped = auth.secret.slice(0, 20) + (auth.secret[20] === 'a' ? 'b' : 'a') + auth.secret.slice(21);
    for (const secret of ['x', 'sk-tg-', `${auth.secret}x`, mistyped]) expect(await refusalOf(secret)).toBe('key_malformed');
    expect(auth.lookUps).toBe(0);
    await expect(keys.authenticate('sk-proj-x', client)).rejects.toThrow('it begins with "sk-tg-"');
    await expect(keys.authenticate(mistyped, client)).rejects.toThrow('was mistyped or not copied completely');
  });

  it('queries auth once for an unknown key, not for each of its calls', async () => {
    const unknown = makeSecret();
    expect([await refusalOf(unknown), await refusalOf(unknown)]).toEqual(['key_unknown', 'key_unknown']);
    expect(auth.lookUps).toBe(1);
  });

  it.each<[string, Partial<Key>, string]>([
    ['revoked', { state: KeyState.KEY_STATE_REVOKED }, 'key_revoked'],
    ['disabled', { state: KeyState.KEY_STATE_DISABLED }, 'key_disabled'],
    ['expired', { expiresAtMs: 1n }, 'key_expired'],
    ['being in a state of a later version', { state: 99 as KeyState }, 'key_disabled'],
  ])('refuses a key from the moment it is pushed as %s', async (_name, change, reason) => {
    expect(await refusalOf()).toBe('admitted');
    await auth.change(change);
    expect(await refusalOf()).toBe(reason);
    expect(auth.lookUps).toBe(1);
  });

  it('ignores a push that is older than what it knows of the key', async () => {
    const older = auth.key;
    expect(await refusalOf()).toBe('admitted');
    await auth.change({ state: KeyState.KEY_STATE_REVOKED });
    await auth.send([WatchKeysResponse_Change.fromPartial({ changed: { $case: 'key', value: older } })]);
    expect(await refusalOf()).toBe('key_revoked');
  });

  it('holds no more keys than its maximum', async () => {
    const first = auth.secret;
    for (let count = 0; count < 3; count += 1) {
      expect(await refusalOf()).toBe('admitted');
      auth.secret = makeSecret();
      auth.key = { ...auth.key, id: newId('key') };
    }
    // Auth is queried again, and no longer knows it.
    expect(await refusalOf(first)).toBe('key_unknown');
  });

  it('does not keep a key in memory that has not been used for five minutes', async () => {
    expect(await refusalOf()).toBe('admitted');
    const idle = new WeakRef(auth.key);
    clock.advance(300_000);
    await useAnotherKey();
    await collectGarbage();
    expect(idle.deref()).toBeUndefined();
  });

  it('remembers no more unknown keys than its maximum', async () => {
    const unknown = makeSecret();
    for (const secret of [unknown, ...Array.from({ length: 10_000 }, makeSecret), unknown]) await refusalOf(secret);
    expect(auth.lookUps).toBe(10_002);
  }, 30_000);

  it('refuses a key at an address that is not allowed, from the moment the list is pushed', async () => {
    expect(await refusalOf()).toBe('admitted');
    await auth.change({ allowedAddresses: ['198.51.100.0/24'] });
    await expect(keys.authenticate(auth.secret, client)).rejects.toMatchObject({
      reason: 'address_not_permitted',
      details: { address: client.ip },
      key: { id: auth.key.id },
    });
    expect(await keys.authenticate(auth.secret, { ip: '::ffff:198.51.100.9' })).toMatchObject({ key: { id: auth.key.id } });
    await auth.change({ allowedAddresses: ['198.51.100.0/24', client.ip] });
    expect(await refusalOf()).toBe('admitted');
  });

  it('refuses the keys of an account from the moment it is pushed as suspended', async () => {
    expect(await refusalOf()).toBe('admitted');
    const other = Account.fromPartial({ id: newId('acct'), state: AccountState.ACCOUNT_STATE_SUSPENDED });
    await auth.send([WatchKeysResponse_Change.fromPartial({ changed: { $case: 'account', value: other } })]);
    expect(await refusalOf()).toBe('admitted');
    await auth.suspend();
    await expect(keys.authenticate(auth.secret, client)).rejects.toMatchObject({
      reason: 'account_suspended',
      message: 'The operator has suspended the account of this platform key: invoice 7 is unpaid',
    });
  });

  it('applies the rate limits of an account from the moment they are pushed', async () => {
    const accountRateLimits = AccountRateLimits.fromPartial({ allModels: { requestsPerMinute: 5 } });
    expect((await keys.authenticate(auth.secret, client)).accountRateLimits).toBeUndefined();
    const account = Account.fromPartial({ id: auth.key.accountId, state: auth.accountState, rateLimits: accountRateLimits });
    await auth.send([WatchKeysResponse_Change.fromPartial({ changed: { $case: 'account', value: account } })]);
    expect((await keys.authenticate(auth.secret, client)).accountRateLimits).toEqual(accountRateLimits);
  });

  const month = (scope: BudgetScope, limitNanoUsd: bigint): Budget =>
    Budget.fromPartial({ id: newId('bud'), scope, limitNanoUsd, version: 1n });

  it('applies the models, limits and budgets of a project, but no older ones', async () => {
    expect((await keys.authenticate(auth.secret, client)).budgets).toEqual([]);
    const rateLimits = { requestsPerMinute: 5, tokensPerMinute: undefined, concurrentCalls: undefined };
    const budgets = [month(BudgetScope.BUDGET_SCOPE_PROJECT, 5n)];
    const changed: Project = { ...auth.project, rateLimits, budgets, models: { allModels: false, modelIds: ['a'] }, version: 2n };
    await auth.send([projectChange(changed)]);
    expect(await keys.authenticate(auth.secret, client)).toMatchObject({ project: changed, budgets });
    await auth.send([
      projectChange({ ...changed, budgets: [], version: 1n }),
      projectChange({ ...changed, id: newId('proj'), version: 3n }),
    ]);
    expect(await keys.authenticate(auth.secret, client)).toMatchObject({ project: changed, budgets });
    expect(auth.lookUps).toBe(1);
  });

  it('replaces the budgets of the key and of its account each for itself, and the time zone and privacy of the account', async () => {
    const [ofKey, ofProject, ofAccount] = [3, 2, 1].map((scope) => month(scope, 5n)) as [Budget, Budget, Budget];
    auth.budgets = [ofKey, ofProject, ofAccount];
    expect((await keys.authenticate(auth.secret, client)).budgets).toHaveLength(3);
    const raised = { ...ofKey, limitNanoUsd: 9n, version: 2n };
    await auth.send([
      WatchKeysResponse_Change.fromPartial({ changed: { $case: 'key', value: { ...auth.key, budgets: [raised], version: 2n } } }),
    ]);
    const account = Account.fromPartial({
      id: auth.key.accountId,
      state: auth.accountState,
      timeZone: 'Asia/Shanghai',
      neverLogPrompts: true,
    });
    await auth.send([WatchKeysResponse_Change.fromPartial({ changed: { $case: 'account', value: account } })]);
    expect(await keys.authenticate(auth.secret, client)).toMatchObject({
      budgets: [ofProject, raised],
      accountTimeZone: 'Asia/Shanghai',
      neverLogPrompts: true,
    });
    expect(auth.lookUps).toBe(1);
  });

  it('applies the settings of the project to which a key moves', async () => {
    await keys.authenticate(auth.secret, client);
    auth.budgets = [month(BudgetScope.BUDGET_SCOPE_PROJECT, 5n)];
    auth.project = { ...auth.project, id: newId('proj') };
    auth.key = { ...auth.key, projectId: auth.project.id, version: 2n };
    await auth.send([WatchKeysResponse_Change.fromPartial({ changed: { $case: 'key', value: auth.key } })]);
    expect(await keys.authenticate(auth.secret, client)).toMatchObject({ budgets: auth.budgets, project: auth.project });
  });

  it('refuses a key at the exact instant of its expiry', async () => {
    auth.key.expiresAtMs = BigInt(clock.nowMs() + 100);
    expect(await refusalOf()).toBe('admitted');
    clock.advance(99);
    expect(await refusalOf()).toBe('admitted');
    clock.advance(1);
    expect(await refusalOf()).toBe('key_expired');
  });

  it('admits both secrets of a rotated key, the previous one until its overlap ends', async () => {
    expect(await refusalOf()).toBe('admitted');
    const former = await auth.rotate(BigInt(clock.nowMs()) + 100n);
    expect([await refusalOf(), await refusalOf(former)]).toEqual(['admitted', 'admitted']);
    expect(auth.lookUps).toBe(3);
    // A pushed change to the key applies to both.
    await auth.change({ state: KeyState.KEY_STATE_DISABLED });
    expect([await refusalOf(), await refusalOf(former)]).toEqual(['key_disabled', 'key_disabled']);
    await auth.change({ state: KeyState.KEY_STATE_ACTIVE });
    clock.advance(100);
    expect([await refusalOf(), await refusalOf(former)]).toEqual(['admitted', 'key_revoked']);
    expect(auth.lookUps).toBe(3);
  });

  it('refuses a secret from the moment its key is pushed as rotated without overlap', async () => {
    expect(await refusalOf()).toBe('admitted');
    const former = await auth.rotate(BigInt(clock.nowMs()));
    await expect(keys.authenticate(former, client)).rejects.toMatchObject({
      reason: 'key_revoked',
      message: expect.stringContaining(`ends in ${auth.secret.slice(-4)}`),
    });
  });

  it('trusts its cache for at most one second when pushes have stopped', async () => {
    expect(await refusalOf()).toBe('admitted');
    // Heartbeats stop: a change made now is not received.
    auth.key = { ...auth.key, state: KeyState.KEY_STATE_REVOKED, version: 2n };
    // Nor does it matter that the time of day is set back.
    clock.step(-3_600_000);
    clock.advance(501);
    expect(keys.isLive()).toBe(false);
    expect(await refusalOf()).toBe('admitted');
    clock.advance(500);
    expect(await refusalOf()).toBe('key_revoked');
  });

  it('clears the cache when the channel was cut, because changes may have been missed', async () => {
    expect(await refusalOf()).toBe('admitted');
    auth.key = { ...auth.key, state: KeyState.KEY_STATE_REVOKED, version: 2n };
    await auth.cut();
    await sleep(150);
    expect(await refusalOf()).toBe('key_revoked');
  });

  it('does not cache an answer that was in flight while a change arrived', async () => {
    const authenticate = auth.authenticate.bind(auth);
    auth.authenticate = async (request) => {
      const answer = await authenticate(request);
      await auth.change({ state: KeyState.KEY_STATE_REVOKED });
      auth.authenticate = authenticate;
      return answer;
    };
    await refusalOf();
    expect(await refusalOf()).toBe('key_revoked');
  });

  describe('that serves known keys for a minute without auth', () => {
    beforeEach(() => restart(60_000));

    const loseAuth = async (): Promise<void> => {
      auth.isUnavailable = true;
      await auth.cut();
    };

    it('admits them until the minute is over, and refuses keys that it has never seen', async () => {
      expect(await refusalOf()).toBe('admitted');
      await loseAuth();
      clock.advance(59_000);
      expect([await refusalOf(), await refusalOf(makeSecret()), keys.isUsable()]).toEqual(['admitted', 'service_unavailable', true]);
      clock.advance(1000);
      expect([await refusalOf(), keys.isUsable()]).toEqual(['service_unavailable', false]);
    });

    it('admits keys that were last used long before', async () => {
      const first = auth.secret;
      expect(await refusalOf()).toBe('admitted');
      clock.advance(300_000);
      await auth.send();
      await useAnotherKey();
      await loseAuth();
      expect(await refusalOf(first)).toBe('admitted');
    });

    it('still refuses a key from the instant of its expiry', async () => {
      auth.key.expiresAtMs = BigInt(clock.nowMs() + 30_000);
      expect(await refusalOf()).toBe('admitted');
      await loseAuth();
      clock.advance(30_000);
      expect(await refusalOf()).toBe('key_expired');
    });

    it('queries auth at most once a second, and applies what has changed once auth is back', async () => {
      expect(await refusalOf()).toBe('admitted');
      await loseAuth();
      clock.advance(10_000);
      for (let call = 0; call < 50; call += 1) await refusalOf();
      expect(auth.lookUps).toBeLessThanOrEqual(3);
      auth.key = { ...auth.key, state: KeyState.KEY_STATE_REVOKED, version: 2n };
      auth.isUnavailable = false;
      clock.advance(1000);
      await refusalOf();
      await sleep(5);
      expect(await refusalOf()).toBe('key_revoked');
    });

    it('keeps them while auth can be reached but cannot read its database', async () => {
      expect(await refusalOf()).toBe('admitted');
      const { authenticate } = auth;
      auth.authenticate = async () => Promise.reject(new AppError('service_unavailable', 'No database.'));
      await auth.cut();
      await sleep(150);
      expect(keys.isLive()).toBe(true);
      expect(await refusalOf()).toBe('admitted');
      auth.authenticate = authenticate;
    });

    it('forgets a key that auth no longer knows', async () => {
      expect(await refusalOf()).toBe('admitted');
      const former = auth.secret;
      auth.secret = makeSecret();
      await auth.cut();
      await sleep(150);
      expect(await refusalOf(former)).toBe('key_unknown');
      await loseAuth();
      clock.advance(1000);
      expect(await refusalOf(former)).toBe('service_unavailable');
    });
  });

  it('fails closed when auth is unavailable and the key is not cached', async () => {
    auth.isUnavailable = true;
    expect(await refusalOf()).toBe('service_unavailable');
  });

  it('refuses calls while auth does not respond, and counts each of them', async () => {
    const { lines, log } = recordingLogger();
    await restart(0, log);
    const { authenticate } = auth;
    auth.authenticate = async () => Promise.reject(new AppError('deadline_exceeded', 'auth did not answer in time.'));
    const refused = await Promise.allSettled([1, 2].map(() => keys.authenticate(auth.secret, client)));
    for (const { reason } of refused as PromiseRejectedResult[]) expect(reason).toMatchObject({ reason: 'service_unavailable' });
    auth.authenticate = authenticate;
    expect(await refusalOf()).toBe('admitted');
    expect(lines.at(-1)).toMatchObject({ msg: 'auth is available again', calls: 2 });
  });
});
