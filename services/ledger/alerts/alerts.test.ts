// Low-balance alerts over a real database: fired once, rearmed when the balance has risen enough, and their notifications shipped to the notifier once.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayMs, hourMs } from '#kit/clock.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import { PutAlertRequest, type PutAlertResponse } from '#proto/ledger/v1/alerts.js';
import { accountColumns } from '../store/rows.js';
import { type Customer, depositRequest, fundedCustomer, holdRequest, refusalOf, settleRequest } from '../testing/requests.js';
import { messagesPerHourMax } from './model.js';
import { startTestAlerts, type TestAlerts } from './testing/alerts.js';

const usd = 1_000_000_000n;

describe.each(testEngines)('low-balance alerts on %s', (engine) => {
  let alerts: TestAlerts;
  let customer: Customer;

  beforeEach(async () => {
    alerts = await startTestAlerts(engine);
    customer = await fundedCustomer(alerts.ledger.service, 20n * usd);
  });
  afterEach(() => alerts.stop());

  const put = (fields: Partial<PutAlertRequest> = {}): Promise<PutAlertResponse> =>
    alerts.service.putAlert(
      PutAlertRequest.fromPartial({
        accountId: customer.accountId,
        enabled: true,
        thresholdNanoUsd: 10n * usd,
        emails: ['ada@example.com'],
        ...fields,
      }),
    );
  const get = () => alerts.service.getAlert({ accountId: customer.accountId });
  const spend = async (amountNanoUsd: bigint): Promise<void> => {
    const { hold } = await alerts.ledger.service.hold(holdRequest(customer, amountNanoUsd));
    await alerts.ledger.service.settle(settleRequest(customer, hold!.id, amountNanoUsd));
  };
  const check = async (): Promise<void> => {
    await alerts.watcher.check();
    await alerts.shipped();
  };

  it('are off and have no recipients until they are set', async () => {
    expect(await get()).toMatchObject({
      alert: { enabled: false, thresholdNanoUsd: 0n, emails: [] },
      low: false,
      availableNanoUsd: 20n * usd,
      settledNanoUsd: 20n * usd,
    });
    await spend(20n * usd);
    await check();
    expect(alerts.notifier.entries.size).toBe(0);
  });

  it('are mailed in the language in which they were set', async () => {
    await put({ language: 'zh-Hans-CN' });
    await spend(11n * usd);
    await check();
    const refused = { accountId: customer.accountId, keyId: customer.keyId, projectId: '', reason: 'key_disabled', refusedAtMs: 0n };
    await alerts.service.alertKeyRefused(refused);
    await alerts.shipped();
    expect(alerts.notifier.mails).toMatchObject([
      { subject: '余额不足：剩余 $9', text: expect.stringContaining('低于您设置的阈值 $10') },
      { subject: '密钥的调用被拒绝：key_disabled', text: expect.stringContaining('密钥已停用。') },
    ]);
    expect((await get()).alert).toMatchObject({ language: 'zh-CN' });
  });

  it.each(['before', 'after'] as const)(
    'of refused keys are sent once when metering repeats one %s it reached the notifier',
    async (when) => {
      await put({ emails: ['ada@example.com', 'bob@example.com'] });
      await alerts.shipped();
      const { accountId, keyId } = customer;
      const refusedAtMs = BigInt(alerts.ledger.clock.nowMs());
      const refused = { accountId, keyId, projectId: '', reason: 'key_disabled', refusedAtMs };
      alerts.notifier.fails = when === 'before' ? 'before' : undefined;
      await alerts.service.alertKeyRefused(refused);
      if (when === 'after') await alerts.shipped();
      // The answer was lost, so metering sends it again later, perhaps to another process.
      alerts.ledger.clock.advance(60_000);
      const other = await alerts.replica();
      expect(await other.service.alertKeyRefused(refused)).toEqual({ mails: 2 });
      alerts.notifier.fails = undefined;
      await alerts.service.alertKeyRefused({ ...refused, refusedAtMs: refusedAtMs + BigInt(hourMs) });
      await alerts.shipped();
      expect(alerts.notifier.mails.map(({ to }) => to).toSorted()).toEqual(
        ['ada', 'ada', 'bob', 'bob'].map((name) => `${name}@example.com`),
      );
      expect(alerts.notifier.events.map(({ type }) => type)).toEqual(['key.refused', 'key.refused']);
      expect(new Set(alerts.notifier.events.map(({ id }) => id)).size).toBe(2);
    },
  );

  it('of two accounts fire separately', async () => {
    const first = customer;
    await put();
    await spend(11n * usd);
    customer = await fundedCustomer(alerts.ledger.service, 20n * usd);
    await put();
    await check();
    expect(alerts.notifier.events.map(({ account_id }) => account_id)).toEqual([first.accountId]);
    await spend(11n * usd);
    await check();
    await check();
    expect(alerts.notifier.events.map(({ account_id }) => account_id)).toEqual([first.accountId, customer.accountId]);
  });

  it('are all checked in turns, however many there are', async () => {
    await put();
    const row: Record<string, unknown> = (await alerts.ledger.db.knex('alert').first())!;
    const idOf = (index: number) => Buffer.from(index.toString(16).padStart(32, '0'), 'hex');
    const others = Array.from({ length: 500 }, (_, index) => ({ ...row, slot: 0, account_id: idOf(index), enabled: 0 }));
    for (let at = 0; at < others.length; at += 50) await alerts.ledger.db.knex('alert').insert(others.slice(at, at + 50));
    await spend(11n * usd);
    await check();
    expect(alerts.notifier.events).toEqual([]);
    await check();
    expect(alerts.notifier.events.map(({ account_id }) => account_id)).toEqual([customer.accountId]);
  });

  it('report the remaining balance to every address and as an event, once', async () => {
    await put({ emails: ['ada@example.com', 'bob@example.com', 'ada@example.com'] });
    await check();
    expect(alerts.notifier.sent).toEqual([]);
    await spend(11n * usd);
    expect(await get()).toMatchObject({ low: true, rearmAtNanoUsd: 12n * usd });
    for (let turn = 0; turn < 3; turn += 1) await check();
    const { mails, events } = alerts.notifier;
    expect(mails.map(({ to }) => to)).toEqual(['ada@example.com', 'bob@example.com']);
    expect(mails[0]).toMatchObject({ subject: 'Low balance: $9 left', text: expect.stringContaining('below your threshold of $10') });
    expect(mails[0]!.text).toContain('https://console.example.com/console/');
    expect(events).toEqual([
      {
        id: expect.stringMatching(/^evt_/),
        type: 'balance.low',
        timestamp: new Date(alerts.ledger.clock.nowMs()).toISOString(),
        account_id: customer.accountId,
        data: { threshold_usd: '10', settled_usd: '9', available_usd: '9' },
      },
    ]);
  });

  it('are not fired by money that calls only hold, but report it', async () => {
    await put();
    const { hold } = await alerts.ledger.service.hold(holdRequest(customer, 11n * usd));
    await check();
    expect(await get()).toMatchObject({ low: false, settledNanoUsd: 20n * usd, availableNanoUsd: 9n * usd });
    expect(alerts.notifier.sent).toEqual([]);
    await alerts.ledger.service.hold(holdRequest(customer, 2n * usd));
    await alerts.ledger.service.settle(settleRequest(customer, hold!.id, 11n * usd));
    await check();
    expect(alerts.notifier.mails[0]!.text).toContain('has $9 left (including $2 held by calls in flight)');
    expect(alerts.notifier.events[0]!.data).toMatchObject({ settled_usd: '9', available_usd: '7' });
  });

  it('fire again only after the balance has risen to the rearm amount', async () => {
    await put();
    await spend(11n * usd);
    await check();
    await alerts.ledger.service.deposit(depositRequest(customer, (5n * usd) / 2n));
    await check();
    expect(await get()).toMatchObject({ low: false, alert: { fired: true } });
    await spend(2n * usd);
    await check();
    expect(alerts.notifier.mails).toHaveLength(1);
    await alerts.ledger.service.deposit(depositRequest(customer, 3n * usd));
    await check();
    expect((await get()).alert).toMatchObject({ fired: false });
    await spend(4n * usd);
    await check();
    expect(alerts.notifier.mails).toHaveLength(2);
    expect(new Set(alerts.notifier.sent.map(({ eventJson }) => (JSON.parse(eventJson) as { id: string }).id)).size).toBe(2);
  });

  it('are rearmed by a new threshold and by being enabled, and by no other change', async () => {
    await put();
    await spend(11n * usd);
    await check();
    const { alert: fired } = await get();
    expect(fired!.firedAtMs).toBeGreaterThan(0n);
    expect((await put({ emails: ['bob@example.com'] })).alert).toMatchObject({ firedAtMs: fired!.firedAtMs });
    await check();
    expect(alerts.notifier.mails).toHaveLength(1);
    await put({ thresholdNanoUsd: 15n * usd });
    await check();
    expect(alerts.notifier.mails).toHaveLength(2);
    await put({ thresholdNanoUsd: 15n * usd, enabled: false });
    await check();
    await put({ thresholdNanoUsd: 15n * usd });
    await check();
    expect(alerts.notifier.mails).toHaveLength(3);
  });

  it('fire once, however many processes check', async () => {
    const others = [await alerts.replica(), await alerts.replica()];
    await put();
    await spend(11n * usd);
    for (let turn = 0; turn < 3; turn += 1) await Promise.all([alerts, ...others].map(({ watcher }) => watcher.check()));
    await alerts.shipped();
    expect([alerts.notifier.sent.length, alerts.notifier.events.length]).toEqual([1, 1]);
  });

  it('reach the notifier once when it was unavailable, and when the ledger ended before it was acknowledged', async () => {
    await put();
    await alerts.shipped();
    await spend(11n * usd);
    alerts.notifier.fails = 'before';
    await alerts.watcher.check();
    expect(await alerts.deps.reads.oldestUnshippedNotificationAtMs()).toBe(BigInt(alerts.ledger.clock.nowMs()));
    alerts.notifier.fails = 'after';
    await eventually(() => (alerts.notifier.sent.length === 1 ? true : undefined));
    await alerts.deps.outbox.stop();
    const received = alerts.notifier.ids.length;
    alerts.notifier.fails = undefined;
    await alerts.replica();
    await alerts.shipped();
    expect(alerts.notifier.ids.length).toBeGreaterThan(received);
    expect(alerts.notifier.mails).toHaveLength(1);
    expect(await alerts.deps.reads.oldestUnshippedNotificationAtMs()).toBe(0n);
  });

  it('withdraw what is on its way to a destination that was removed, in the order of the changes', async () => {
    await put({ emails: ['ada@example.com', 'bob@example.com'] });
    await spend(11n * usd);
    await alerts.watcher.check();
    await put({ emails: ['bob@example.com'] });
    await put({ emails: ['bob@example.com'], enabled: false });
    await alerts.shipped();
    const entries = [...alerts.notifier.entries.values()].map(({ id, entry }) => ({ id, entry: entry! }));
    expect(entries.map(({ id }) => id)).toEqual(entries.map(({ id }) => id).toSorted());
    const toWhom = entries.flatMap(({ entry }): (string | string[])[] =>
      entry.$case === 'destinations' ? [entry.value.destinations] : entry.$case === 'notification' ? [entry.value.destination] : [],
    );
    expect(toWhom).toEqual([
      ['ada@example.com', 'bob@example.com'],
      'ada@example.com',
      'bob@example.com',
      ['bob@example.com'],
      ['bob@example.com'],
    ]);
  });

  it('are tested at once and without retries, also while they are off', async () => {
    const test = () => alerts.service.testAlert({ accountId: customer.accountId });
    expect(await refusalOf(test())).toMatchObject({ reason: 'failed_precondition' });
    await put({ enabled: false });
    const { notifications } = await test();
    expect(notifications).toHaveLength(1);
    expect(alerts.notifier.sent.map(({ once }) => once)).toEqual([true]);
    expect(JSON.parse(alerts.notifier.sent[0]!.eventJson)).toMatchObject({
      type: 'balance.low',
      test: true,
      data: { available_usd: '20' },
    });
    expect(alerts.notifier.mails[0]!.subject).toBe('Test: low balance: $20 left');
    expect(alerts.notifier.events).toEqual([]);
    alerts.notifier.fails = 'before';
    expect(await refusalOf(test())).toMatchObject({ reason: 'service_unavailable' });
    alerts.notifier.fails = undefined;
    await check();
    expect(alerts.notifier.sent).toHaveLength(1);
  });

  it('limit the mails sent within an hour', async () => {
    await put({ emails: Array.from({ length: 10 }, (_, index) => `p${index}@example.com`) });
    for (let test = 0; test < messagesPerHourMax / 10; test += 1) await alerts.service.testAlert({ accountId: customer.accountId });
    expect(await refusalOf(alerts.service.testAlert({ accountId: customer.accountId }))).toMatchObject({ reason: 'overloaded' });
    await spend(11n * usd);
    await check();
    expect(alerts.notifier.mails).toHaveLength(messagesPerHourMax);
    alerts.ledger.clock.advance(hourMs + 1);
    await check();
    expect(alerts.notifier.mails).toHaveLength(messagesPerHourMax + 10);
  });

  it('are not held up by mails that were sent while the time of day was far ahead', async () => {
    await put({ emails: Array.from({ length: 10 }, (_, index) => `p${index}@example.com`) });
    alerts.ledger.clock.step(365 * dayMs);
    for (let test = 0; test < messagesPerHourMax / 10; test += 1) await alerts.service.testAlert({ accountId: customer.accountId });
    alerts.ledger.clock.step(-365 * dayMs);
    await spend(11n * usd);
    await check();
    expect(alerts.notifier.mails).toHaveLength(messagesPerHourMax + 10);
  });

  it.each([
    ['threshold_nano_usd', { thresholdNanoUsd: 0n }],
    ['emails', { emails: ['nobody'] }],
    ['emails', { emails: ['a@example.com, b@example.com'] }],
    ['emails', { emails: ['a@example.com\nBcc: b@example.com'] }],
    ['emails', { emails: ['Ada <a@example.com>'] }],
    ['emails', { emails: Array.from({ length: 11 }, (_, index) => `p${index}@example.com`) }],
  ] as [string, Partial<PutAlertRequest>][])('reject an invalid %s', async (field, fields) => {
    expect(await refusalOf(put(fields))).toMatchObject({ reason: 'invalid_request', details: { field } });
  });

  it('can be set by two callers at once without losing a change', async () => {
    const other = await alerts.replica();
    const request = (emails: string[]) =>
      PutAlertRequest.fromPartial({ accountId: customer.accountId, enabled: true, thresholdNanoUsd: usd, emails });
    await Promise.all([alerts.service.putAlert(request(['a@example.com'])), other.service.putAlert(request(['b@example.com']))]);
    const rows: Record<string, unknown>[] = await alerts.ledger.db.knex('alert').select('version');
    expect(rows.map(({ version }) => Number(version))).toEqual([2]);
  });

  // A SQLite file has one writer.
  if (engine === 'mysql')
    it('can be changed by two callers at once without losing a change', async () => {
      await put();
      const other = await alerts.replica();
      const { db } = alerts.ledger;
      const locker = await db.knex.transaction();
      await locker('alert').where(accountColumns(customer.accountId, engine)).forUpdate();
      const request = PutAlertRequest.fromPartial({ accountId: customer.accountId, thresholdNanoUsd: usd });
      const changed = Promise.all([alerts.service, other.service].map((service) => service.putAlert(request)));
      await untilWaiting(db, 'from `alert`', 2);
      await locker.rollback();
      await changed;
      expect(Number((await db.knex('alert').first('version')).version)).toBe(3);
    });

  it('check all accounts in turn, by pages', async () => {
    const accounts = [customer];
    for (let count = 0; count < 4; count += 1) accounts.push(await fundedCustomer(alerts.ledger.service, usd));
    for (const { accountId } of accounts) await put({ accountId, emails: [] });
    const seen: string[] = [];
    let place: Parameters<typeof alerts.deps.alerts.watched>[0];
    do {
      const { watched, end } = await alerts.deps.alerts.watched(place, 2);
      seen.push(...watched.map(({ alert }) => alert.accountId));
      place = end;
    } while (place !== undefined);
    expect([...seen].sort()).toEqual(accounts.map(({ accountId }) => accountId).sort());
  });

  it('find the entry that a deposit made', async () => {
    const { entry } = await alerts.ledger.service.deposit(depositRequest(customer, usd, { idempotencyKey: 'stripe:cs_1' }));
    expect(await alerts.ledger.service.getEntryByIdempotencyKey({ accountId: customer.accountId, idempotencyKey: 'stripe:cs_1' })).toEqual({
      entry,
    });
    const other = await fundedCustomer(alerts.ledger.service, usd);
    expect(
      await refusalOf(alerts.ledger.service.getEntryByIdempotencyKey({ accountId: other.accountId, idempotencyKey: 'stripe:cs_1' })),
    ).toMatchObject({
      reason: 'not_found',
    });
  });
});
