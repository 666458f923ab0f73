// How operators manage callers, and how services receive them.
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { failureOf } from '#kit/testing/waiting.js';
import { callContext } from '#client/call-context.js';
import {
  CreateCallerRequest,
  type CallerService,
  type DeepPartial,
  RotateCallerRequest,
  UpdateCallerRequest,
  type WatchCallersResponse,
} from '#proto/auth/v1/callers.js';
import { ListAuditEventsRequest } from '#proto/auth/v1/users.js';
import type { Row } from '../store/rows.js';
import { newAccount, operator, startTestAuth, type TestAuth } from '../testing/auth.js';
import { toRow } from './caller-rows.js';
import { callersMax } from './caller-store.js';

describe.each(testEngines)('callers on %s', (engine) => {
  let auth: TestAuth;
  let callers: CallerService;
  beforeEach(async () => {
    auth = await startTestAuth(engine);
    callers = auth.callers;
  });
  afterEach(() => auth.stop());

  const create = async (fields: DeepPartial<CreateCallerRequest> = {}) =>
    (await callers.createCaller(CreateCallerRequest.fromPartial({ name: 'billing-team', grants: ['ledger.read'], ...fields }), operator))
      .caller!;
  const update = (fields: DeepPartial<UpdateCallerRequest>) => callers.updateCaller(UpdateCallerRequest.fromPartial(fields), operator);
  const certificate = () => ({ sha256: randomBytes(32), expiresAtMs: BigInt(auth.clock.nowMs() + 86_400_000) });

  it('are created, changed and revoked, and each change is in the audit log', async () => {
    const account = await newAccount(auth.service);
    const created = await create({
      accountLimit: { accountIds: [account.id, account.id] },
      grants: ['ledger.read', 'ledger.hold', 'ledger.read'],
    });
    expect(created).toMatchObject({
      identity: 'CN=billing-team',
      grants: ['ledger.hold', 'ledger.read'],
      accountLimit: { accountIds: [account.id] },
    });
    const { caller: updated } = await update({ name: 'billing-team', grants: ['metering.read'], version: created.version });
    expect(updated).toMatchObject({ grants: ['metering.read'], accountLimit: undefined });
    expect((await callers.getCaller({ name: 'billing-team' }, operator)).caller).toEqual(updated);
    const { caller: revoked } = await callers.revokeCaller({ name: 'billing-team' }, operator);
    expect(revoked!.revokedAtMs).toBe(BigInt(auth.clock.nowMs()));
    expect((await callers.listCallers({}, operator)).callers).toEqual([revoked]);
    expect((await callers.revokeCaller({ name: 'billing-team' }, operator)).caller).toEqual(revoked);
    const { events } = await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ action: 'caller' }), operator);
    expect(events.map(({ action, actorName, targetId }) => [action, actorName, targetId])).toEqual(
      ['caller.revoke', 'caller.update', 'caller.create'].map((action) => [action, 'operator CLI', 'billing-team']),
    );
  });

  it('do not exceed the maximum when many are created at once', async () => {
    const first = await create();
    const known = Array.from({ length: callersMax - 1 }, (_each, number) => ({
      ...first,
      name: `team-${number}`,
      identity: `CN=team-${number}`,
      // Only one of them can make room for another caller.
      revokedAtMs: number === 0 ? 1n : undefined,
    }));
    await auth.db.knex.batchInsert(
      'caller',
      known.map((caller, number) => toRow(caller, -number)),
      100,
    );
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, (_each, number) => create({ name: `racer-${number}` })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ reason: 'failed_precondition' });
    const [counted] = (await auth.db.knex('caller').count({ callers: '*' })) as Row[];
    expect(Number(counted!['callers'])).toBe(callersMax);
  });

  it('are rejected when a field is invalid', async () => {
    const invalid: [DeepPartial<CreateCallerRequest>, string][] = [
      [{ name: 'Billing' }, 'name'],
      [{ name: 'x' }, 'name'],
      [{ name: 'gateway' }, 'name'],
      [{ name: 'operator' }, 'name'],
      [{ identity: 'spiffe://example.com' }, 'identity'],
      [{ identity: 'CN=gateway' }, 'identity'],
      [{ identity: 'https://example.com/a' }, 'identity'],
      [{ grants: [] }, 'grants'],
      [{ grants: ['ledger.everything'] }, 'grants'],
      [{ accountLimit: { accountIds: [] } }, 'account_limit.account_ids'],
      [{ accountLimit: { accountIds: ['me'] } }, 'account_id'],
      [{ certificate: { sha256: randomBytes(3), expiresAtMs: 2n ** 50n } }, 'certificate.sha256'],
      [{ certificate: { sha256: randomBytes(32), expiresAtMs: 1n } }, 'certificate.expires_at_ms'],
    ];
    for (const [fields, field] of invalid)
      expect(await failureOf(create(fields))).toMatchObject({ reason: 'invalid_request', details: { field } });
    const absent = `acct_${'0'.repeat(32)}`;
    expect(await failureOf(create({ accountLimit: { accountIds: [absent] } }))).toMatchObject({
      reason: 'not_found',
      details: { what: 'account' },
    });
    expect((await callers.listCallers({}, operator)).callers).toEqual([]);
  });

  it('have a unique name and identity, which a revoked caller releases', async () => {
    const identity = 'spiffe://example.com/billing';
    await create({ identity });
    expect(await failureOf(create())).toMatchObject({ reason: 'already_exists' });
    expect(await failureOf(create({ name: 'other', identity }))).toMatchObject({ reason: 'already_exists' });
    await callers.revokeCaller({ name: 'billing-team' }, operator);
    expect(await create({ name: 'other', identity })).toMatchObject({ name: 'other', revokedAtMs: undefined });
    expect(await create()).toMatchObject({ identity: 'CN=billing-team', revokedAtMs: undefined });
  });

  it('are not changed with an outdated version, or after they were revoked', async () => {
    const { version } = await create();
    await update({ name: 'billing-team', grants: ['ledger.hold'], version });
    expect(await failureOf(update({ name: 'billing-team', grants: ['metering.read'], version }))).toMatchObject({
      reason: 'failed_precondition',
    });
    expect(await failureOf(update({ name: 'nobody', grants: ['metering.read'], version }))).toMatchObject({
      reason: 'not_found',
      details: { what: 'caller' },
    });
    const { caller } = await callers.revokeCaller({ name: 'billing-team' }, operator);
    expect(await failureOf(update({ name: 'billing-team', grants: ['metering.read'], version: caller!.version }))).toMatchObject({
      reason: 'failed_precondition',
    });
  });

  it('keep a replaced certificate for the overlap, and no longer than an earlier rotation allowed', async () => {
    const first = certificate();
    await create({ certificate: first });
    const rotate = async (overlapMs: number) =>
      (
        await callers.rotateCaller(
          RotateCallerRequest.fromPartial({ name: 'billing-team', certificate: certificate(), overlapMs }),
          operator,
        )
      ).caller!;
    const nowMs = BigInt(auth.clock.nowMs());
    expect((await rotate(60_000)).certificates.map(({ validUntilMs }) => validUntilMs)).toEqual([undefined, nowMs + 60_000n]);
    expect((await rotate(120_000)).certificates.map(({ validUntilMs }) => validUntilMs)).toEqual([
      undefined,
      nowMs + 120_000n,
      nowMs + 60_000n,
    ]);
    expect((await rotate(0)).certificates).toHaveLength(1);
    await create({ name: 'own-pki', identity: 'spiffe://example.com/own' });
    const refused = callers.rotateCaller(RotateCallerRequest.fromPartial({ name: 'own-pki', certificate: certificate() }), operator);
    expect(await failureOf(refused)).toMatchObject({ reason: 'failed_precondition' });
  });

  it('are pushed to every watcher: all at first, then each change, whichever replica made it', async () => {
    await create();
    const replica = await auth.startReplicaModule();
    const disconnect = new AbortController();
    const messages: WatchCallersResponse[] = [];
    const watching = (async () => {
      for await (const message of replica.callers.service.watchCallers({}, callContext({ caller: 'ledger', signal: disconnect.signal })))
        messages.push(message);
    })();
    const until = async (isThere: () => boolean): Promise<void> => {
      for (const endMs = Date.now() + 10_000; !isThere();) {
        if (Date.now() > endMs)
          throw new Error(
            `The message did not arrive: ${JSON.stringify(messages.map(({ callers: some }) => some.map(({ name }) => name)))}`,
          );
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await until(() => messages.length > 0);
    expect(messages.map(({ signingKeys }) => signingKeys.length)).toEqual([1, ...messages.slice(1).map(() => 0)]);
    expect(messages[0]).toMatchObject({ isSnapshot: true, callers: [{ name: 'billing-team', grants: ['ledger.read'] }] });
    await create({ name: 'other' });
    await callers.revokeCaller({ name: 'billing-team' }, operator);
    const changes = () => messages.slice(1).flatMap(({ callers: some }) => some);
    await until(() => changes().length >= 2);
    expect(changes()).toMatchObject([{ name: 'other' }, { name: 'billing-team', revokedAtMs: expect.any(BigInt) }]);
    expect(messages.slice(1).some(({ isSnapshot }) => isSnapshot)).toBe(false);
    disconnect.abort();
    await watching;
  });

  it('are recorded as seen, without a push and without moving the time back', async () => {
    const { version } = await create();
    const nowMs = BigInt(auth.clock.nowMs());
    const seen = async () => (await callers.getCaller({ name: 'billing-team' }, operator)).caller!;
    await callers.reportCallersSeen(
      {
        sightings: [
          { name: 'billing-team', atMs: nowMs },
          { name: 'gone', atMs: nowMs },
        ],
      },
      operator,
    );
    expect(await seen()).toMatchObject({ lastSeenAtMs: nowMs, version });
    await callers.reportCallersSeen({ sightings: [{ name: 'billing-team', atMs: nowMs - 5n }] }, operator);
    expect((await seen()).lastSeenAtMs).toBe(nowMs);
    await callers.reportCallersSeen({ sightings: [{ name: 'billing-team', atMs: nowMs + 99_999_999n }] }, operator);
    expect((await seen()).lastSeenAtMs).toBe(nowMs);
  });
});
