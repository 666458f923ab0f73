import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import {
  AccountState,
  type AuthService,
  KeyState,
  UpdateAccountRequest,
  UpdateKeyRequest,
  type WatchKeysResponse,
} from '#proto/auth/v1/auth.js';
import { callContext } from '#client/call-context.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from '../testing/auth.js';

/** What one watcher has heard. */
class Heard {
  readonly messages: WatchKeysResponse[] = [];
  readonly ended: Promise<void>;
  private readonly leaving = new AbortController();

  constructor(service: AuthService) {
    this.ended = this.listen(service);
  }

  leave(): void {
    this.leaving.abort();
  }

  get changes(): unknown[] {
    return this.messages.flatMap((message) => message.changes.map(({ changed }) => changed?.value));
  }

  /** Resolves when a change like this was heard; raises after one second, the time in which a change must act everywhere. */
  async untilHeard(expected: object): Promise<void> {
    for (const startMs = Date.now(); Date.now() - startMs < 1000; await new Promise((resolve) => setTimeout(resolve, 5))) {
      if (this.changes.some((change) => matches(change, expected))) return;
    }
    expect(this.changes).toContainEqual(expect.objectContaining(expected));
  }

  private async listen(service: AuthService): Promise<void> {
    for await (const message of service.watchKeys({}, callContext({ caller: 'gateway', signal: this.leaving.signal }))) {
      this.messages.push(message);
    }
  }
}

function matches(change: unknown, expected: object): boolean {
  return expect.objectContaining(expected).asymmetricMatch(change);
}

describe.each(testEngines)('watching keys on %s', (engine) => {
  let auth: TestAuth;
  let watchers: Heard[];

  beforeEach(async () => {
    auth = await startTestAuth(engine);
    watchers = [];
  });
  afterEach(async () => {
    for (const watcher of watchers) watcher.leave();
    await Promise.all(watchers.map((watcher) => watcher.ended));
    await auth.stop();
  });

  async function watch(service: AuthService = auth.service): Promise<Heard> {
    const heard = new Heard(service);
    watchers.push(heard);
    while (heard.messages.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    return heard;
  }

  it('begins with an empty message that tells the interval of heartbeats', async () => {
    await newAccount(auth.service, 'before');
    const heard = await watch();
    expect(heard.messages[0]).toEqual({ changes: [], heartbeatIntervalMs: 250 });
  });

  it('hears every kind of change with the new state', async () => {
    const heard = await watch();
    const account = await newAccount(auth.service);
    await heard.untilHeard({ id: account.id, version: 1n });
    await auth.service.updateAccount(
      UpdateAccountRequest.fromPartial({ accountId: account.id, state: AccountState.ACCOUNT_STATE_SUSPENDED, updateMask: ['state'] }),
      operator,
    );
    await heard.untilHeard({ id: account.id, state: AccountState.ACCOUNT_STATE_SUSPENDED });
    const { key } = await newKey(auth.service, account);
    await heard.untilHeard({ id: key.id, version: 1n });
    await auth.service.updateKey(
      UpdateKeyRequest.fromPartial({
        keyId: key.id,
        accountId: account.id,
        lifetimeLimitNanoUsd: 5n,
        models: { modelIds: ['a'] },
        updateMask: ['lifetime_limit_nano_usd', 'models'],
      }),
      operator,
    );
    await heard.untilHeard({ id: key.id, lifetimeLimitNanoUsd: 5n, models: { allModels: false, modelIds: ['a'] } });
    const revoked = await auth.service.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    await heard.untilHeard({ ...revoked.key });
    expect(heard.changes).toHaveLength(5);
  });

  it('hears of a change made by another replica within a second', async () => {
    const replica = await auth.startReplica();
    const here = await watch(auth.service);
    const there = await watch(replica);
    const { key } = await newKey(auth.service, await newAccount(auth.service));
    await there.untilHeard({ id: key.id, state: KeyState.KEY_STATE_ACTIVE });
    await replica.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    await Promise.all([here, there].map((heard) => heard.untilHeard({ id: key.id, state: KeyState.KEY_STATE_REVOKED })));
  });

  it('hears each change of many at once, the last state last', async () => {
    const heard = await watch();
    const { key } = await newKey(auth.service, await newAccount(auth.service));
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        auth.service.updateKey(
          UpdateKeyRequest.fromPartial({ keyId: key.id, accountId: key.accountId, name: `name ${index}`, updateMask: ['name'] }),
          operator,
        ),
      ),
    );
    await heard.untilHeard({ id: key.id, version: 31n });
    const versions = heard.changes
      .map((change) => change as { id: string; version: bigint })
      .filter((change) => change.id === key.id)
      .map((change) => change.version);
    expect(versions).toEqual([...versions].sort((a, b) => Number(a - b)));
  });

  it('hears nothing when nothing changed', async () => {
    const { key } = await newKey(auth.service, await newAccount(auth.service));
    await auth.service.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    const heard = await watch();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const heardBefore = heard.changes.length;
    await auth.service.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(heard.changes).toHaveLength(heardBefore);
  });

  it('hears heartbeats at the interval', async () => {
    const heard = await watch();
    await new Promise((resolve) => setTimeout(resolve, 1300));
    // The first message and four of the five heartbeats that are due, since a busy machine may delay one.
    expect(heard.messages.length).toBeGreaterThanOrEqual(5);
    expect(heard.changes).toEqual([]);
  });

  it('ends when the service stops', async () => {
    const heard = await watch();
    await auth.module.stop();
    await heard.ended;
    expect(await auth.module.ready()).toEqual({ ok: false, why: 'auth cannot read its database' });
  });
});
