// The audit log: filters, the hash chain and its verification; and how operators manage users.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import {
  AuditEvent,
  CreateUserRequest,
  type DeepPartial,
  ListAuditEventsRequest,
  ListUsersRequest,
  UpdateUserRequest,
  VerifyAuditLogRequest,
} from '#proto/auth/v1/users.js';
import { operator, startTestAuth, type TestAuth } from '../../testing/auth.js';
import { maskOf } from '../../testing/mask-of.js';
import { recordRestore } from './restores.js';

describe.each(testEngines)('the audit log on %s', (engine) => {
  let auth: TestAuth;
  const ada = newId('user');
  const made: AuditEvent[] = [];
  let firstAtMs: number;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    firstAtMs = auth.clock.nowMs();
    await append({ action: 'key.create', actorUserId: ada, actorName: 'ada@example.com', accountId: 'acct_a', targetId: 'key_1' });
    await append({ action: 'key.revoke', actorUserId: ada, actorName: 'ada@example.com', accountId: 'acct_a', targetId: 'key_1' });
    await append({
      action: 'account.suspend',
      actorName: 'operator CLI',
      accountId: 'acct_b',
      targetId: 'acct_b',
      detailJson: '{"reason":"x"}',
    });
  });
  afterAll(() => auth.stop());

  async function append(entry: DeepPartial<AuditEvent>): Promise<AuditEvent> {
    const event = AuditEvent.fromPartial({
      id: newId('aud', auth.clock.nowMs()),
      atMs: BigInt(auth.clock.nowMs()),
      detailJson: '{}',
      ...entry,
    });
    auth.clock.advance(1000);
    await auth.users.appendAuditEvents({ events: [event] }, operator);
    const { events: entries } = await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ pageSize: 100 }), operator);
    const appended = entries.find(({ id }) => id === event.id)!;
    made.push(appended);
    return appended;
  }
  const numbers = async (filter: DeepPartial<ListAuditEventsRequest>) =>
    (await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial(filter), operator)).events.map(({ number }) => Number(number));
  const verify = (seen: DeepPartial<VerifyAuditLogRequest> = {}) =>
    auth.users.verifyAuditLog(VerifyAuditLogRequest.fromPartial(seen), operator);

  it('is filtered by actor, action, target, account and time', async () => {
    expect(await numbers({})).toEqual([3, 2, 1]);
    expect(await numbers({ actor: ada })).toEqual([2, 1]);
    expect(await numbers({ actor: 'ADA@' })).toEqual([2, 1]);
    expect(await numbers({ actor: 'operator cli' })).toEqual([3]);
    expect(await numbers({ withoutUser: true })).toEqual([3]);
    expect(await numbers({ actor: ada, withoutUser: true })).toEqual([]);
    expect(await numbers({ action: 'key.create' })).toEqual([1]);
    expect(await numbers({ action: 'key' })).toEqual([2, 1]);
    expect(await numbers({ action: 'ke' })).toEqual([]);
    expect(await numbers({ targetId: 'key_1', accountId: 'acct_a' })).toEqual([2, 1]);
    expect(await numbers({ fromMs: BigInt(firstAtMs + 1000), untilMs: BigInt(firstAtMs + 2000) })).toEqual([2]);
    await expect(numbers({ action: '%' })).rejects.toMatchObject({ reason: 'invalid_request' });
  });

  it('numbers concurrent entries without gaps', async () => {
    const entries = await Promise.all(Array.from({ length: 20 }, (_, index) => append({ action: 'key.create', targetId: `key ${index}` })));
    expect(new Set(entries.map(({ number }) => Number(number)))).toEqual(new Set(Array.from({ length: 20 }, (_, index) => index + 4)));
    expect(await verify()).toMatchObject({ fault: '', eventsChecked: 23n, lastNumber: 23n });
  });

  it('is chained as documented, so that an export can be verified independently', async () => {
    let before: Uint8Array = Buffer.alloc(32);
    for (const entry of made.toSorted((a, b) => Number(a.number - b.number))) {
      const { number, id, atMs, actorUserId, actorName, clientAddress, caller, accountId, action, targetId, detailJson } = entry;
      const text = JSON.stringify([
        String(number),
        id,
        String(atMs),
        actorUserId,
        actorName,
        clientAddress,
        caller,
        accountId,
        action,
        targetId,
        detailJson,
      ]);
      before = createHash('sha256').update(before).update(text).digest();
      expect(Buffer.from(entry.hash)).toEqual(before);
    }
  });

  it('appends an event once, however often it is sent and with whichever other events', async () => {
    const [first, second] = ['once', 'after'].map((targetId, index) =>
      AuditEvent.fromPartial({
        id: newId('aud', auth.clock.nowMs() + index),
        atMs: 1n,
        action: 'key.create',
        actorName: 'a',
        targetId,
        detailJson: '{}',
      }),
    );
    const before = (await verify()).lastNumber;
    await auth.users.appendAuditEvents({ events: [first!] }, operator);
    await Promise.all(Array.from({ length: 5 }, () => auth.users.appendAuditEvents({ events: [first!, second!, second!] }, operator)));
    expect((await verify()).lastNumber).toBe(before + 2n);
    expect(await numbers({ targetId: 'once' })).toEqual([Number(before) + 1]);
    expect(await numbers({ targetId: 'after' })).toEqual([Number(before) + 2]);
    expect((await verify()).fault).toBe('');
  });

  it('rejects events that it could not list or chain', async () => {
    const event = { id: newId('aud'), action: 'key.create', detailJson: '{}' };
    const fieldOf = async (changes: DeepPartial<AuditEvent>) => {
      const events = [AuditEvent.fromPartial(event), AuditEvent.fromPartial({ ...event, ...changes })];
      const refusal = auth.users.appendAuditEvents({ events }, operator);
      return ((await refusal.catch((error: unknown) => error)) as AppError).details?.['field'];
    };
    expect(await fieldOf({ id: 'aud_1' })).toBe('events[1].id');
    expect(await fieldOf({ action: 'key' })).toBe('events[1].action');
    expect(await fieldOf({ detailJson: '[]' })).toBe('events[1].detail_json');
    expect(await fieldOf({ detailJson: '{' })).toBe('events[1].detail_json');
    expect(await fieldOf({ targetId: 'x'.repeat(201) })).toBe('events[1].target_id');
    await expect(
      auth.users.appendAuditEvents({ events: Array.from({ length: 101 }, () => AuditEvent.fromPartial(event)) }, operator),
    ).rejects.toMatchObject({ reason: 'invalid_request' });
  });

  it('finds the name of an actor as it is written, in any script', async () => {
    const actorName = 'ada@example.com (management key Übung)';
    const { number } = await append({ action: 'key.create', actorUserId: newId('mkey'), actorName, targetId: 'key_2' });
    for (const actor of [actorName, 'Übung']) expect(await numbers({ actor })).toEqual([Number(number)]);
  });

  it('stores any text exactly as it was hashed', async () => {
    await append({
      action: 'user.rename',
      actorName: `${'x'.repeat(199)}💸 `,
      targetId: 'ü\u0000 ',
      detailJson: JSON.stringify({ name: '\ud83d' }),
    });
    expect((await verify()).fault).toBe('');
  });

  it('detects a changed or removed entry, and a log that does not contain a recorded hash', async () => {
    const knex = auth.db.knex;
    const [second] = made.filter(({ number }) => number === 2n);
    expect((await verify({ number: 2n, hash: second!.hash })).fault).toBe('');
    expect((await verify({ number: 2n, hash: Buffer.alloc(32) })).fault).toContain('The hash of entry 2 differs');
    expect((await verify({ number: 99n, hash: Buffer.alloc(32) })).fault).toContain('Entry 99, whose hash you recorded, is missing');
    await knex('audit_entry').where({ number: 2 }).update({ detail: '{"a":1}' });
    expect((await verify()).fault).toContain('Entry 2 ');
    await knex('audit_entry').where({ number: 2 }).update({ detail: '{}' });
    expect((await verify()).fault).toBe('');
    const last = await knex('audit_entry').orderBy('number', 'desc').first();
    await knex('audit_entry').where({ number: last.number }).delete();
    expect((await verify()).fault).toContain(`Entry ${last.number} is missing`);
    await knex('audit_entry').insert(last);
    const row = await knex('audit_entry').where({ number: 1 }).first();
    await knex('audit_entry').where({ number: 1 }).delete();
    expect((await verify()).fault).toContain('Entry 1 is missing');
    await knex('audit_entry').insert(row);
    expect((await verify()).fault).toBe('');
  });

  it('is verified page by page, with other work in between, and no longer than its caller waits', async () => {
    for (let page = 0; page < 11; page += 1) {
      const events = Array.from({ length: 100 }, () =>
        AuditEvent.fromPartial({ id: newId('aud'), action: 'user.update', detailJson: '{}' }),
      );
      await auth.users.appendAuditEvents({ events }, operator);
    }
    const caller = new AbortController();
    setImmediate(() => caller.abort());
    await expect(auth.users.verifyAuditLog(VerifyAuditLogRequest.fromPartial({}), { ...operator, signal: caller.signal })).rejects.toThrow(
      /abort/,
    );
  });
});

describe.each(testEngines)('the audit log of a restored installation on %s', (engine) => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
  });
  afterAll(() => auth.stop());

  it('names the restore that may explain why a recorded entry is missing or has another hash', async () => {
    const append = async () => {
      const event = AuditEvent.fromPartial({ id: newId('aud'), action: 'user.update', detailJson: '{}' });
      await auth.users.appendAuditEvents({ events: [event] }, operator);
    };
    const verify = (number: bigint, hash = Buffer.alloc(32)) => auth.users.verifyAuditLog({ number, hash }, operator);
    await append();
    await append();
    const { lastHash } = await verify(0n);
    const backupAtMs = Date.parse('2026-11-30T03:00:00.000Z');
    await recordRestore(auth.db, auth.clock, '2026-11-30T03:00:00.000Z');
    await append();
    const restore = { atMs: BigInt(auth.clock.nowMs()), backupAtMs: BigInt(backupAtMs), lastNumber: 2n };
    expect(await verify(0n)).toMatchObject({ fault: '', lastNumber: 4n, restore });
    for (const number of [3n, 4n]) expect(await verify(number)).toMatchObject({ fault: expect.stringContaining('differs'), restore });
    expect(await verify(8n)).toMatchObject({ fault: 'Entry 8, whose hash you recorded, is missing.', restore });
    expect(await verify(2n, Buffer.from(lastHash))).toMatchObject({ fault: '', restore: undefined });
    expect(await verify(2n)).toMatchObject({ fault: expect.stringContaining('differs'), restore: undefined });
    await auth.db.knex('audit_entry').where({ number: 1 }).update({ detail: '{"a":1}' });
    expect(await verify(8n)).toMatchObject({ fault: expect.stringContaining('Entry 1 '), restore: undefined });
  });
});

describe.each(testEngines)('users as operators manage them on %s', (engine) => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
  });
  afterAll(() => auth.stop());

  const add = async (email: string, name: string, isOperator = false) =>
    (await auth.users.createUser(CreateUserRequest.fromPartial({ email, name, isOperator }), operator)).user!;
  const found = async (search: string) =>
    (await auth.users.listUsers(ListUsersRequest.fromPartial({ search }), operator)).users.map(({ email }) => email);
  const change = (userId: string, fields: DeepPartial<UpdateUserRequest>) =>
    auth.users.updateUser(
      UpdateUserRequest.fromPartial({
        userId,
        keepLastOperator: true,
        ...fields,
        updateMask: maskOf(fields).filter((path) => path !== 'keep_last_operator'),
      }),
      operator,
    );

  it('are found by name, address or id', async () => {
    const grace = await add('grace@navy.mil', 'Grace Hopper');
    await add('ada@example.com', 'Ada');
    expect(await found('HOPPER')).toEqual(['grace@navy.mil']);
    expect(await found('Navy')).toEqual(['grace@navy.mil']);
    expect(await found(grace.id)).toEqual(['grace@navy.mil']);
    expect(await found('%')).toEqual([]);
    expect(await found('')).toHaveLength(2);
  });

  it('always include an operator who can sign in, even when two demote each other at once', async () => {
    const [one, two] = [await add('one@example.com', 'One', true), await add('two@example.com', 'Two', true)];
    const outcomes = await Promise.allSettled([change(one.id, { isOperator: false }), change(two.id, { isOperator: false })]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const left = outcomes[0]!.status === 'rejected' ? one : two;
    await expect(change(left.id, { isOperator: false })).rejects.toMatchObject({ reason: 'failed_precondition' });
    await expect(change(left.id, { isDisabled: true })).rejects.toMatchObject({ reason: 'failed_precondition' });
    await change(left.id, { name: 'Left' });
    // The operator CLI does not need an operator who can sign in, so it may remove the last one.
    await change(left.id, { isDisabled: true, keepLastOperator: false });
  });
});
