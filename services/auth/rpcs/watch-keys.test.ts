import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { untilTrue } from '#kit/testing/waiting.js';
import {
  AccountState,
  type AuthService,
  KeyState,
  UpdateAccountRequest,
  UpdateKeyRequest,
  UpdateProjectRequest,
  type WatchKeysResponse,
} from '#proto/auth/v1/auth.js';
import { callContext } from '#client/call-context.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from '../testing/auth.js';

/** Collects the messages that one watcher receives. */
class WatchRecorder {
  readonly messages: WatchKeysResponse[] = [];
  readonly arrivedMs: number[] = [];
  readonly ended: Promise<void>;
  private readonly aborter = new AbortController();

  constructor(service: AuthService) {
    this.ended = this.listen(service);
  }

  disconnect(): void {
    this.aborter.abort();
  }

  get changes(): unknown[] {
    return this.messages.flatMap((message) => message.changes.map(({ changed }) => changed?.value));
  }

  /** Resolves when a change like this was received. Raises after one second, the time in which a change must take effect everywhere. */
  async untilReceived(expected: object): Promise<void> {
    for (const startMs = Date.now(); Date.now() - startMs < 10_000; await new Promise((resolve) => setTimeout(resolve, 5))) {
      if (this.changes.some((change) => matches(change, expected))) return;
    }
    expect(this.changes).toContainEqual(expect.objectContaining(expected));
  }

  private async listen(service: AuthService): Promise<void> {
    for await (const message of service.watchKeys({}, callContext({ caller: 'gateway', signal: this.aborter.signal }))) {
      this.messages.push(message);
      this.arrivedMs.push(performance.now());
    }
  }
}

function matches(change: unknown, expected: object): boolean {
  return expect.objectContaining(expected).asymmetricMatch(change);
}

describe.each(testEngines)('watching keys on %s', (engine) => {
  let auth: TestAuth;
  let watchers: WatchRecorder[];

  beforeEach(async () => {
    auth = await startTestAuth(engine);
    watchers = [];
  });
  afterEach(async () => {
    for (const watcher of watchers) watcher.disconnect();
    await Promise.all(watchers.map((watcher) => watcher.ended));
    await auth.stop();
  });

  async function watch(service: AuthService = auth.service): Promise<WatchRecorder> {
    const watcher = new WatchRecorder(service);
    watchers.push(watcher);
    while (watcher.messages.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    return watcher;
  }

  it('begins with an empty message that has the heartbeat interval', async () => {
    await newAccount(auth.service, 'before');
    const watcher = await watch();
    expect(watcher.messages[0]).toEqual({ changes: [], heartbeatIntervalMs: 250 });
  });

  it('receives every kind of change with the new state', async () => {
    const watcher = await watch();
    const account = await newAccount(auth.service);
    await watcher.untilReceived({ id: account.id, version: 1n });
    await auth.service.updateAccount(
      UpdateAccountRequest.fromPartial({ accountId: account.id, state: AccountState.ACCOUNT_STATE_SUSPENDED, updateMask: ['state'] }),
      operator,
    );
    await watcher.untilReceived({ id: account.id, state: AccountState.ACCOUNT_STATE_SUSPENDED });
    const { key } = await newKey(auth.service, account);
    await watcher.untilReceived({ id: key.id, version: 1n });
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
    await watcher.untilReceived({ id: key.id, lifetimeLimitNanoUsd: 5n, models: { allModels: false, modelIds: ['a'] } });
    const revoked = await auth.service.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    await watcher.untilReceived({ ...revoked.key });
    const projectId = key.projectId;
    await auth.service.updateProject(
      UpdateProjectRequest.fromPartial({ projectId, accountId: account.id, name: 'Main', updateMask: ['name'] }),
      operator,
    );
    await watcher.untilReceived({ id: projectId, name: 'Main', version: 2n });
    // The default project is created with its account.
    expect(watcher.changes).toHaveLength(7);
  });

  it('receives a change made by another replica', async () => {
    const replica = await auth.startReplica();
    const here = await watch(auth.service);
    const there = await watch(replica);
    const { key } = await newKey(auth.service, await newAccount(auth.service));
    await there.untilReceived({ id: key.id, state: KeyState.KEY_STATE_ACTIVE });
    await replica.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    await Promise.all([here, there].map((watcher) => watcher.untilReceived({ id: key.id, state: KeyState.KEY_STATE_REVOKED })));
  });

  it('receives concurrent changes of a key in order', async () => {
    const watcher = await watch();
    const { key } = await newKey(auth.service, await newAccount(auth.service));
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        auth.service.updateKey(
          UpdateKeyRequest.fromPartial({ keyId: key.id, accountId: key.accountId, name: `name ${index}`, updateMask: ['name'] }),
          operator,
        ),
      ),
    );
    await watcher.untilReceived({ id: key.id, version: 31n });
    const versions = watcher.changes
      .map((change) => change as { id: string; version: bigint })
      .filter((change) => change.id === key.id)
      .map((change) => change.version);
    expect(versions).toEqual([...versions].sort((a, b) => Number(a - b)));
  });

  it('receives nothing when nothing changed', async () => {
    const { key } = await newKey(auth.service, await newAccount(auth.service));
    await auth.service.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    const watcher = await watch();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const changesBefore = watcher.changes.length;
    await auth.service.revokeKey({ keyId: key.id, accountId: key.accountId }, operator);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(watcher.changes).toHaveLength(changesBefore);
  });

  it('receives heartbeats at the interval', async () => {
    const watcher = await watch();
    await untilTrue(() => watcher.messages.length > 7);
    const gapsMs = watcher.arrivedMs.slice(1).map((ms, index) => ms - watcher.arrivedMs[index]!);
    // A busy machine delays some of them.
    expect(gapsMs.toSorted((one, other) => one - other)[3]).toBeLessThan(500);
    expect(watcher.changes).toEqual([]);
  });

  it('ends when the service stops', async () => {
    const watcher = await watch();
    await auth.module.stop();
    await watcher.ended;
    expect(await auth.module.ready()).toEqual({ ok: false, why: 'auth cannot read its database' });
  });
});
