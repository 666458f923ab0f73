// Audit events are shipped from the outbox to the log if and only if their change has committed, each once, whatever fails on the way.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../clock.js';
import { dialects } from '../db/migrations/dialect.js';
import type { Database } from '../db/open.js';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { recordingLogger, silentLog as log } from '../testing/log.js';
import { recordedAudit } from '../testing/audit.js';
import { idTimeMs } from '../id.js';
import { createTestDatabase, type TestDatabase, testEngines } from '../testing/database.js';
import { eventually, untilStill } from '../testing/waiting.js';
import { auditCharsMax, changedFields } from './audit-event.js';
import { oldestMessageAtMs, orderedIds } from '../outbox/outbox.js';
import { AuditOutbox, auditOutboxTable, type AuditReceiver } from './audit-outbox.js';

const gateway = callContext({ caller: 'gateway' });
const actor = {
  userId: 'user_1',
  sessionId: 'sess_1',
  email: 'ada@example.com',
  isOperator: false,
  roles: new Map(),
  projectRoles: new Map(),
  clientAddress: '192.0.2.7',
};
const created = { action: 'thing.create', accountId: 'acct_1', targetId: 'thing_1', detail: { name: 'Thing', amount: 5n } };

describe.each(testEngines)('an outbox of audit events on %s', (engine) => {
  let database: TestDatabase;
  let db: Database;
  let outboxes: AuditOutbox[];
  beforeEach(async () => {
    database = await createTestDatabase(engine);
    db = database.db;
    await db.knex.raw(auditOutboxTable(dialects[engine], 'service'));
    outboxes = [];
  });
  afterEach(async () => {
    for (const outbox of outboxes) await outbox.stop();
    await database.drop();
  });

  function start(receiver: AuditReceiver, outboxLog = log): AuditOutbox {
    const outbox = new AuditOutbox({ db, receiver, caller: 'service', clock: new ManualClock(), log: outboxLog });
    outboxes.push(outbox);
    outbox.start();
    return outbox;
  }
  const waiting = async () => Number((await db.knex('service_audit_outbox').count({ events: '*' }))[0]!['events']);
  const isEmpty = () => eventually(async () => ((await waiting()) === 0 ? true : undefined));

  it('ships an event with its actor once its transaction has committed, and deletes it', async () => {
    const receiver = recordedAudit();
    const outbox = start(receiver);
    await db.transaction(async (tx) => {
      await outbox.append(tx, { ...gateway, actor }, created);
    });
    await isEmpty();
    expect(receiver.events).toMatchObject([
      {
        action: 'thing.create',
        actorUserId: 'user_1',
        actorName: 'ada@example.com',
        clientAddress: '192.0.2.7',
        caller: 'gateway',
        accountId: 'acct_1',
        targetId: 'thing_1',
        detailJson: '{"name":"Thing","amount":"5"}',
      },
    ]);
  });

  it('names the calling process when no user acts', async () => {
    const receiver = recordedAudit();
    const outbox = start(receiver);
    await db.transaction(async (tx) => {
      await outbox.append(tx, { caller: 'billing-team' }, created);
      await outbox.append(tx, { caller: 'operator' }, created);
    });
    await isEmpty();
    expect(receiver.events.map(({ actorName, actorUserId }) => [actorName, actorUserId])).toEqual([
      ['billing-team', ''],
      ['operator CLI', ''],
    ]);
  });

  it('ships nothing of a transaction that rolled back', async () => {
    const receiver = recordedAudit();
    const outbox = start(receiver);
    const refused = db.transaction(async (tx) => {
      await outbox.append(tx, gateway, created);
      throw new Error('refused');
    });
    await expect(refused).rejects.toThrow('refused');
    await db.transaction((tx) => outbox.append(tx, gateway, { ...created, targetId: 'thing_2' }));
    await isEmpty();
    expect(receiver.events.map(({ targetId }) => targetId)).toEqual(['thing_2']);
  });

  it('keeps events while the receiver is unavailable and ships them in order when it is back', async () => {
    const receiver = recordedAudit();
    let isAvailable = false;
    const outbox = start({
      async appendAuditEvents(request, context) {
        if (!isAvailable) throw new AppError('service_unavailable', 'It is stopped.');
        await receiver.appendAuditEvents(request, context);
      },
    });
    const targets = Array.from({ length: 120 }, (_, index) => `thing_${index}`);
    for (const targetId of targets) await db.transaction((tx) => outbox.append(tx, gateway, { ...created, targetId }));
    expect(await waiting()).toBe(120);
    isAvailable = true;
    await isEmpty();
    expect(receiver.events.map(({ targetId }) => targetId)).toEqual(targets);
  });

  it('logs the beginning and the end of each outage of the receiver, and reports how old the oldest event is', async () => {
    const { log: outboxLog, lines } = recordingLogger();
    let isAvailable = false;
    const sent: number[] = [];
    const outbox = start(
      {
        async appendAuditEvents({ events }) {
          sent.push(events.length);
          if (!isAvailable) throw new AppError('service_unavailable', 'It is stopped.');
        },
      },
      outboxLog,
    );
    for (let outage = 0; outage < 2; outage += 1) {
      isAvailable = false;
      const before = sent.length;
      await db.transaction((tx) => outbox.append(tx, gateway, created));
      await eventually(() => (sent.length >= before + 3 ? true : undefined));
      expect(await oldestMessageAtMs(db.knex, 'service_audit_outbox')).toBe(new ManualClock().nowMs());
      isAvailable = true;
      await eventually(() => (lines.length === 2 * (outage + 1) ? true : undefined));
    }
    await isEmpty();
    expect(await oldestMessageAtMs(db.knex, 'service_audit_outbox')).toBe(0);
    expect(lines.map(({ msg }) => String(msg).replace(/;.*/, ''))).toEqual([
      'audit events could not be shipped',
      'audit events can be shipped again',
      'audit events could not be shipped',
      'audit events can be shipped again',
    ]);
    expect(new Set(sent)).toEqual(new Set([1]));
  });

  it('ships again what was received but not acknowledged before it stopped, under the same id', async () => {
    const receiver = recordedAudit();
    const sent: string[] = [];
    const outbox = start({
      async appendAuditEvents(request, context) {
        sent.push(...request.events.map(({ id }) => id));
        await receiver.appendAuditEvents(request, context);
        throw new AppError('service_unavailable', 'The connection broke.');
      },
    });
    await db.transaction((tx) => outbox.append(tx, gateway, created));
    await eventually(() => (receiver.events.length === 1 ? true : undefined));
    await outbox.stop();
    expect(await waiting()).toBe(1);
    start({
      async appendAuditEvents(request, context) {
        sent.push(...request.events.map(({ id }) => id));
        await receiver.appendAuditEvents(request, context);
      },
    });
    await isEmpty();
    expect(new Set(sent).size).toBe(1);
    expect(sent.length).toBeGreaterThan(1);
  });

  it('stops while the receiver does not answer', async () => {
    let isAsked = false;
    const outbox = start({
      appendAuditEvents(_request, { signal }) {
        isAsked = true;
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    await db.transaction((tx) => outbox.append(tx, gateway, created));
    await eventually(() => (isAsked ? true : undefined));
    await outbox.stop();
    expect(await waiting()).toBe(1);
  });

  it('reads nothing while there is nothing to ship', async () => {
    const outbox = start(recordedAudit());
    await db.transaction((tx) => outbox.append(tx, gateway, created));
    await isEmpty();
    let reads = 0;
    db.knex.on('query', () => (reads += 1));
    // The check that follows the last batch.
    await untilStill(() => reads);
    const checks = reads;
    await delay(500);
    expect(reads).toBe(checks);
    expect(checks).toBeLessThanOrEqual(1);
  });

  it('truncates texts to their limits', async () => {
    const receiver = recordedAudit();
    const outbox = start(receiver);
    const long = 'ü💸'.repeat(100_000);
    await db.transaction((tx) =>
      outbox.append(
        tx,
        { caller: long, actor: { ...actor, email: long } },
        { ...created, targetId: long, detail: { long, quotes: '"'.repeat(20_000) } },
      ),
    );
    await isEmpty();
    const [event] = receiver.events;
    for (const field of Object.keys(auditCharsMax) as (keyof typeof auditCharsMax)[])
      expect([field, event![field].length <= auditCharsMax[field]]).toEqual([field, true]);
    expect(JSON.parse(event!.detailJson)).toMatchObject({ truncated: expect.stringContaining('ü💸') });
  });
});

describe('ids of audit events', () => {
  it('sort in the order of their creation, even within a millisecond and after the clock was set back', () => {
    const next = orderedIds('aud');
    const ids = Array.from({ length: 10_000 }, (_, index) => next(1_800_000_000_000 + (index < 9000 ? 0 : -5000)));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
    expect(idTimeMs('aud', next(1_800_000_060_000))).toBe(1_800_000_060_000);
  });
});

describe('changed fields', () => {
  it('are those that differ, before and after', () => {
    expect(changedFields({ a: 1, b: ['x'], c: 'y' }, { a: 1, b: ['x', 'z'], c: 'y' })).toEqual({
      before: { b: ['x'] },
      after: { b: ['x', 'z'] },
    });
    expect(changedFields({ a: [1] }, { a: [1] })).toBeUndefined();
  });
});
