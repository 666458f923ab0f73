import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { type Actor, type CallContext, callContext } from '#client/call-context.js';
import { dayMs } from '#kit/clock.js';
import { idToBytes, newId } from '#kit/id.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import type { Database } from '#kit/db/open.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import { type Call, type MeteringService, Outcome, PromptLog, PromptLogState as State, UsageRecord } from '#proto/metering/v1/metering.js';
import type { MeteringConfig } from '../index.js';
import { checkpoint, aWhile, find, Harness, record, until } from '../testing/harness.js';
import { call, report, tokens } from '../testing/calls.js';
import type { PricedRecord } from '../records/usage-record.js';
import { deleteUnusedKeys, expectPromptLogs, findPromptLog, keyOfAccount } from '../store/prompt-logs.js';

const marker = 'the prompt in clear';
const log = PromptLog.fromPartial({ requestBody: `{"prompt":"${marker}"}`, answerBody: '{"answer":true}' });

/** Returns the context of a user with these roles, in the account or in its projects. */
function as(accountId: string, role: string, projects: Record<string, string> = {}, isOperator = false): CallContext {
  const actor: Actor = {
    userId: newId('user'),
    email: `${role}@example.com`,
    sessionId: '',
    isOperator,
    roles: new Map(role === '' ? [] : [[accountId, role]]),
    projectRoles: new Map([[accountId, new Map(Object.entries(projects))]]),
    clientAddress: '192.0.2.1',
  } as unknown as Actor;
  return { ...callContext({ caller: 'gateway' }), actor };
}

describe.each(testEngines)('logged prompts on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  let logged: Call;

  const begin = async (): Promise<void> => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
  };
  beforeAll(begin);
  beforeEach(() => {
    logged = call({ promptLogDays: 7 });
    harness.promptLogDays.set(logged.projectId, 7);
  });
  afterAll(() => harness.close());

  const ended = (of: Call) =>
    record(service, report({ call: of, outcome: Outcome.OUTCOME_COMPLETED, tokens: tokens({ inputTokens: 10, outputTokens: 5 }) }));
  const entryOf = ({ id: callId, accountId, projectId, startedAtMs }: Call) => ({ callId, accountId, projectId, startedAtMs, days: 7 });
  const keep = (of: Call, kept: PromptLog | undefined = log, by = service) =>
    by.storePromptLogs({ entries: [{ ...entryOf(of), log: kept }] });
  const stateOf = async (of: Call) => (await find(service, of.id))?.promptLog;
  const read = (of: Call, context = as(of.accountId, 'developer')) =>
    service.readPromptLog({ accountId: of.accountId, callId: of.id }, context);
  const countOf = async (table: string): Promise<number> => Number((await harness.db.knex(table).count({ rows: '*' }))[0]!['rows']);
  const keptBytes = async (): Promise<number[]> => {
    const rows = await harness.db.knex('prompt_log_account').select('kept_bytes');
    return rows.map((row: { kept_bytes: unknown }) => Number(row.kept_bytes));
  };
  const with_ = async (changes: Partial<MeteringConfig>): Promise<MeteringService> => (await harness.replica(changes)).service;

  it('are expected with the record, stored encrypted, and read by a developer, which the audit log records', async () => {
    await ended(logged);
    expect(await stateOf(logged)).toBe(State.PROMPT_LOG_STATE_PENDING);
    await keep(logged);
    expect(await stateOf(logged)).toBe(State.PROMPT_LOG_STATE_KEPT);
    const [row] = await harness.db.knex('prompt_log_body').select('sealed');
    expect(row.sealed.includes(marker)).toBe(false);
    expect(await read(logged)).toEqual({ log, expiresAtMs: logged.startedAtMs + BigInt(7 * dayMs) });
    const events = () => harness.audit.events.filter(({ targetId }) => targetId === logged.id);
    await until(() => events().length > 0);
    expect(events()).toMatchObject([
      { action: 'prompt_log.read', accountId: logged.accountId, targetId: logged.id, actorName: 'developer@example.com' },
    ]);
    expect(JSON.stringify(events().map(({ detailJson }) => detailJson))).not.toContain(marker);
  });

  it('are kept when they arrive while the record of their call is being stored', async () => {
    let kept: Promise<unknown> | undefined;
    await harness.db.plainTransaction(async (tx) => {
      await expectPromptLogs(tx, [{ record: UsageRecord.fromPartial({ call: logged }) } as PricedRecord]);
      kept = keep(logged);
      // Long enough that the body's own transaction is under way, where there can be two.
      await new Promise((resolve) => setTimeout(resolve, 500));
    });
    await kept;
    expect((await findPromptLog(harness.db, idToBytes('req', logged.id)!))?.state).toBe(State.PROMPT_LOG_STATE_KEPT);
  });

  it('are kept whether the record or the body comes first, once', async () => {
    await keep(logged);
    await ended(logged);
    await keep(logged, PromptLog.fromPartial({ requestBody: 'another' }));
    expect((await read(logged)).log).toEqual(log);
  });

  it('are stored for several accounts at once, each readable only as the log of its own call', async () => {
    const ofCalls = [logged, call({ accountId: logged.accountId, projectId: logged.projectId }), call()].map((each, index) => ({
      each,
      own: PromptLog.fromPartial({ requestBody: `prompt ${index}` }),
    }));
    for (const { each } of ofCalls) harness.promptLogDays.set(each.projectId, 7);
    await service.storePromptLogs({ entries: ofCalls.map(({ each, own }) => ({ ...entryOf(each), log: own })) });
    for (const { each, own } of ofCalls) expect((await read(each)).log).toEqual(own);
  });

  it('stay deleted when they arrive, or are sent again, after a user has deleted them', async () => {
    const { accountId } = logged;
    const sentAgain = call({ accountId, projectId: logged.projectId, promptLogDays: 7 });
    for (const each of [logged, sentAgain]) await ended(each);
    await keep(sentAgain);
    for (const each of [logged, sentAgain]) {
      await service.deletePromptLog({ accountId, callId: each.id }, as(accountId, 'owner'));
      await keep(each);
      await expect(read(each)).rejects.toMatchObject({ reason: 'not_found' });
      expect(await stateOf(each)).toBe(State.PROMPT_LOG_STATE_UNSPECIFIED);
    }
  });

  it('are encrypted with a stored key, even if a new one is removed because the account has no logs yet', async () => {
    // The sweeper of a running replica would remove new keys at any time.
    const own = await Harness.create(engine);
    await (await own.replica()).stop();
    const accountId = Buffer.from(randomBytes(16));
    const made: string[] = [];
    const removing: Pick<Database, 'query' | 'plainTransaction'> = {
      query: own.db.query.bind(own.db),
      async plainTransaction(work, options) {
        const result = await own.db.plainTransaction(work, options);
        if (made.length === 1) await deleteUnusedKeys(own.db);
        return result;
      },
    };
    const newKey = (): string => `key ${made.push('')}`;
    expect(await keyOfAccount(removing, accountId, newKey)).toBe('key 2');
    expect(await keyOfAccount(own.db, accountId, newKey)).toBe('key 2');
    await own.close();
  });

  // A SQLite file has one writer.
  if (engine === 'mysql')
    it('all count when two processes store logs of one account at the same moment', async () => {
      const of = () => call({ accountId: logged.accountId, projectId: logged.projectId });
      await keep(of());
      const account = { account_id: idToBytes('acct', logged.accountId) };
      const counted = async () => Number((await harness.db.knex('prompt_log_account').where(account).first()).kept_bytes);
      const each = await counted();
      const other = await with_({});
      const locker = await harness.db.knex.transaction();
      await locker('prompt_log_account').where(account).forUpdate();
      const kept = Promise.all([service, other].map((by) => keep(of(), log, by)));
      await untilWaiting(harness.db, 'kept_bytes', 2);
      await locker.rollback();
      await kept;
      expect(await counted()).toBe(3 * each);
    });

  it('are shown as lost with the call of a gateway that was lost', async () => {
    const leaseMs = 30_000;
    harness.clock.advance(leaseMs);
    await checkpoint(service, { call: logged, tokens: tokens({ inputTokens: 10 }) });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, logged.id)) !== undefined);
    expect(await stateOf(logged)).toBe(State.PROMPT_LOG_STATE_LOST);
  });

  it('do not exist for calls of other projects', async () => {
    const other = call();
    await ended(other);
    expect(await stateOf(other)).toBe(State.PROMPT_LOG_STATE_UNSPECIFIED);
    await expect(read(other)).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('are read and deleted by developers, admins and owners only', async () => {
    await keep(logged);
    const { accountId, id: callId, projectId } = logged;
    for (const context of [as(accountId, 'admin'), as(accountId, 'owner'), as(accountId, 'member', { [projectId]: 'developer' })])
      expect((await read(logged, context)).log).toEqual(log);
    const refused: [CallContext, string][] = [
      [as(accountId, 'viewer'), 'role_not_permitted'],
      [as(accountId, 'billing'), 'role_not_permitted'],
      [as(accountId, 'member', { [projectId]: 'viewer' }), 'role_not_permitted'],
      [as(accountId, 'member', { [newId('proj')]: 'developer' }), 'not_found'],
      [as(newId('acct'), 'owner'), 'not_found'],
      [as(accountId, '', {}, true), 'role_not_permitted'],
      [callContext({ caller: 'operator' }), 'role_not_permitted'],
    ];
    for (const [context, reason] of refused) {
      await expect(read(logged, context)).rejects.toMatchObject({ reason });
      await expect(service.deletePromptLog({ accountId, callId }, context)).rejects.toMatchObject({ reason });
    }
    const other = newId('acct');
    await expect(service.readPromptLog({ accountId: other, callId }, as(other, 'owner'))).rejects.toMatchObject({ reason: 'not_found' });
    await service.deletePromptLog({ accountId, callId }, as(accountId, 'admin'));
    await expect(read(logged)).rejects.toMatchObject({ reason: 'not_found' });
    await until(() => harness.audit.events.some(({ action, targetId }) => action === 'prompt_log.delete' && targetId === callId));
  });

  it('say why they are not kept', async () => {
    const [overloaded, late] = [call({ promptLogDays: 7 }), call({ promptLogDays: 7 })];
    for (const each of [overloaded, late]) harness.promptLogDays.set(each.projectId, 7);
    await service.storePromptLogs({ entries: [{ ...entryOf(overloaded), log: undefined }] });
    for (const each of [overloaded, late]) await ended(each);
    expect(await stateOf(overloaded)).toBe(State.PROMPT_LOG_STATE_OVERLOADED);
    harness.clock.advance(600_001);
    expect(await stateOf(late)).toBe(State.PROMPT_LOG_STATE_LOST);
    await keep(late, { ...log, answerTruncated: true });
    expect(await stateOf(late)).toBe(State.PROMPT_LOG_STATE_TRUNCATED);
  });

  describe('on databases of their own', () => {
    beforeEach(async () => {
      await harness.close();
      await begin();
      harness.promptLogDays.set(logged.projectId, 7);
    });

    it('replace the oldest of their account beyond its quota, and are refused beyond that of the installation', async () => {
      const { accountId, projectId } = logged;
      const bulky = { ...log, requestBody: randomBytes(30_000).toString('hex') };
      const calls = [1, 2, 3].map((ms) => call({ id: newId('req', ms), accountId, projectId, promptLogDays: 7 }));
      const small = await with_({ promptLogBytesPerAccountMax: 80_000 });
      for (const each of calls) {
        await ended(each);
        await keep(each, bulky, small);
      }
      expect(await Promise.all(calls.map(stateOf))).toEqual([
        State.PROMPT_LOG_STATE_REPLACED,
        State.PROMPT_LOG_STATE_KEPT,
        State.PROMPT_LOG_STATE_KEPT,
      ]);
      const [bytes] = await keptBytes();
      expect(bytes).toBeLessThanOrEqual(80_000);
      expect(await countOf('prompt_log_body')).toBe(2);
      const next = call({ accountId, projectId, promptLogDays: 7 });
      await ended(next);
      await keep(next, bulky, await with_({ promptLogBytesMax: bytes! }));
      expect(await stateOf(next)).toBe(State.PROMPT_LOG_STATE_FULL);
    });

    it('expire, and nothing is left of them, not even the key of their account', async () => {
      await keep(logged);
      harness.clock.advance(7 * dayMs - 60_000);
      await expect(read(logged)).rejects.toMatchObject({ reason: 'not_found' });
      await until(async () => (await countOf('prompt_log_account')) === 0);
      expect([await countOf('prompt_log'), await countOf('prompt_log_body')]).toEqual([0, 0]);
    });

    it('are deleted when their project keeps them for a shorter time, and when it stops logging', async () => {
      const older = call({
        accountId: logged.accountId,
        projectId: logged.projectId,
        startedAtMs: logged.startedAtMs - BigInt(2 * dayMs),
      });
      for (const each of [older, logged]) await keep(each);
      await aWhile();
      expect(await countOf('prompt_log_body')).toBe(2);
      harness.promptLogDays.set(logged.projectId, 1);
      await until(async () => (await countOf('prompt_log_body')) === 1);
      expect((await read(logged)).log).toEqual(log);
      harness.promptLogDays.delete(logged.projectId);
      await until(async () => (await countOf('prompt_log')) === 0);
    });

    it('stay readable when the secret key is rotated, and are deleted with a key that is lost', async () => {
      const [old, next] = [randomBytes(32), randomBytes(32)];
      const sealedWith = async (): Promise<string> =>
        (await harness.db.knex('prompt_log_account').select('sealed_key'))[0].sealed_key.split('.')[0];
      harness.secretKeys = fixedSecretKeys(old);
      const other = call();
      harness.promptLogDays.set(other.projectId, 7);
      const first = await with_({});
      for (const each of [logged, other]) await keep(each, log, first);
      expect(await sealedWith()).toBe(harness.secretKeys.current().id);
      harness.secretKeys = fixedSecretKeys(next, old);
      service = await with_({});
      expect(await sealedWith()).toBe(harness.secretKeys.current().id);
      harness.secretKeys = fixedSecretKeys(next);
      service = await with_({});
      for (const each of [logged, other]) expect((await read(each)).log).toEqual(log);
      const lostId = harness.secretKeys.current().id;
      // The process that rotates the key back ends before it has encrypted the key of the second account.
      const row = harness.db.knex('prompt_log_account').where({ account_id: idToBytes('acct', logged.accountId) });
      const { sealed_key } = await row.clone().first();
      harness.secretKeys = fixedSecretKeys(old, next);
      await with_({});
      await row.clone().update({ sealed_key });
      harness.secretKeys = fixedSecretKeys(old);
      await expect(harness.replica()).rejects.toMatchObject({ reason: 'failed_precondition', message: expect.stringContaining(lostId) });
      ({ service } = await harness.replica({}, lostId));
      await expect(read(logged)).rejects.toMatchObject({ reason: 'not_found' });
      expect((await read(other)).log).toEqual(log);
      expect(await countOf('prompt_log_body')).toBe(1);
    });

    it('are neither stored nor kept where the installation logs nothing', async () => {
      await keep(logged);
      const off = await with_({ promptLogging: false });
      await until(async () => (await countOf('prompt_log')) === 0);
      await keep(logged, log, off);
      expect(await countOf('prompt_log')).toBe(0);
    });
  });
});
