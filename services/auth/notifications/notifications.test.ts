// Mails over a real database: delivered, retried with growing delays, withdrawn, listed, each once per id. Webhooks have tests of their own.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { MailFailure } from '#kit/mail/mailer.js';
import { testEngines } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import {
  AccountDestinations,
  NewNotification,
  type Notification,
  type NotificationEntry,
  NotificationState,
} from '#proto/auth/v1/notifications.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { operator, startTestAuth, type TestAuth } from '../testing/auth.js';
import { TestMailer } from '../testing/test-mailer.js';
import { keptDays } from './model.js';
import { Notifier } from './notifier.js';
import { NotificationStore } from './store.js';
import type { DeliveryDeps } from './try-delivery.js';
import { pauseDeliveries } from '../store/installation.js';

const {
  NOTIFICATION_STATE_PENDING: pending,
  NOTIFICATION_STATE_DELIVERED: delivered,
  NOTIFICATION_STATE_FAILED: failed,
  NOTIFICATION_STATE_WITHDRAWN: withdrawn,
} = NotificationState;
const accountId = newId('acct');

describe.each(testEngines)('notifications on %s', (engine) => {
  let auth: TestAuth;
  const mailer = new TestMailer();

  beforeEach(async () => {
    [mailer.mails, mailer.failures] = [[], []];
    auth = await startTestAuth(engine, { mailer });
  });
  afterEach(() => auth.stop());

  const entry = (of: NotificationEntry['entry']): NotificationEntry => ({
    id: newId('ntf', auth.clock.nowMs()),
    accountId,
    entry: of,
  });
  const mail = (destination = 'ada@example.com', fields: Parameters<typeof NewNotification.fromPartial>[0] = {}): NotificationEntry => {
    const content = { eventJson: '{"type":"balance.low"}', mail: { subject: 'Low balance', text: 'Add money.' } };
    return entry({ $case: 'notification', value: NewNotification.fromPartial({ destination, ...content, ...fields }) });
  };
  const destinations = (value: Partial<AccountDestinations>): NotificationEntry =>
    entry({ $case: 'destinations', value: AccountDestinations.fromPartial(value) });
  const append = (entries: NotificationEntry[], wait = false) => auth.notifications.appendNotifications({ entries, wait }, operator);
  const deliver = async (...entries: NotificationEntry[]): Promise<Notification[]> => (await append(entries, true)).notifications;
  const list = async (pageSize = 0, pageToken = '') =>
    auth.notifications.listNotifications({ accountId, pageSize, pageToken, channel: 0, endpointId: '' }, operator);
  const only = async (): Promise<Notification> => (await list()).notifications[0]!;
  const status = () => auth.notifications.getDeliveryStatus({}, operator);

  it('are delivered by mail, and nothing of their content is kept', async () => {
    expect(await deliver(mail())).toMatchObject([
      { state: delivered, attempts: 1, lastResult: '250 taken', destination: 'ada@example.com', eventJson: '{"type":"balance.low"}' },
    ]);
    expect(mailer.mails).toMatchObject([{ to: 'ada@example.com', subject: 'Low balance', text: 'Add money.' }]);
    expect(await auth.db.knex('notification').whereNotNull('sealed_content')).toEqual([]);
  });

  it('are delivered once, however often and by however many callers they are appended', async () => {
    const [one, other] = [mail(), mail()];
    await Promise.all([append([one]), append([one]), append([one, other])]);
    await deliver(one);
    await eventually(async () => ((await status()).pending === 0n ? true : undefined));
    await append([{ ...one, entry: mail('elsewhere@example.com').entry }]);
    expect(mailer.mails).toHaveLength(2);
    expect((await list()).notifications).toHaveLength(2);
  });

  it('are delivered by at most thirty mails at a time, and the others when there is room', async () => {
    let fail = (): void => undefined;
    const hanging = new Promise<never>((_, reject) => (fail = () => reject(new MailFailure('451 later', false))));
    mailer.failures = Array.from({ length: 30 }, () => hanging);
    await append(Array.from({ length: 31 }, () => mail()));
    expect(await auth.db.knex('notification').where({ attempts: 0 }).select('id')).toHaveLength(1);
    await eventually(() => (mailer.failures.length === 0 ? true : undefined));
    expect(mailer.mails).toEqual([]);
    fail();
    await eventually(() => (mailer.mails.length === 1 ? true : undefined));
  });

  it('are retried with growing delays, then given up, with the answer of the mail server and one id', async () => {
    mailer.failures = Array.from({ length: 6 }, () => new MailFailure('454 not now', false));
    await append([mail()]);
    for (const [index, waitMs] of [10_000, 40_000, 160_000, 640_000, 2_560_000].entries()) {
      // While an attempt is in progress, the next one is due when its claim expires.
      await eventually(async () => (Number((await only()).nextAttemptAtMs) === auth.clock.nowMs() + waitMs ? true : undefined));
      expect(await only()).toMatchObject({ state: pending, attempts: index + 1, lastResult: '454 not now', endedAtMs: 0n });
      auth.clock.advance(waitMs);
    }
    await eventually(async () => ((await only()).state === failed ? true : undefined));
    expect(await only()).toMatchObject({ attempts: 6, nextAttemptAtMs: 0n });
    expect(await auth.db.knex('notification').whereNotNull('sealed_content')).toEqual([]);
  });

  it.each([
    ['other@example.com', finding('email_rejected', { detail: '452 mailbox full' })],
    ['full@example.com', finding('email_sign_in', { detail: '535 no' })],
  ])('report why mails wait, and whether only one recipient is affected: %s, %s', async (second, secondFault) => {
    const firstFault = finding('email_rejected', { detail: '452 mailbox full' });
    const failTwice = async (destination: string, fault: string): Promise<void> => {
      mailer.failures = [new MailFailure(fault, false), new MailFailure(fault, false)];
      await deliver(mail(destination));
      await eventually(() => {
        auth.clock.advance(1000);
        return mailer.failures.length === 0 ? true : undefined;
      });
    };
    expect(await status()).toMatchObject({ mailError: '', mailErrorOfOneRecipient: false });
    await failTwice('full@example.com', firstFault);
    await eventually(async () => ((await status()).mailError === '' ? undefined : true));
    expect(await status()).toMatchObject({ mailError: firstFault, mailErrorOfOneRecipient: true });
    await failTwice(second, secondFault);
    await eventually(async () => ((await status()).mailErrorOfOneRecipient ? undefined : true));
    expect(await status()).toMatchObject({ mailError: secondFault });
  });

  it('are not retried after a permanent failure, nor where they are sent only once', async () => {
    mailer.failures.push(new MailFailure('550 no such mailbox', true));
    expect(await deliver(mail())).toMatchObject([{ state: failed, lastResult: '550 no such mailbox' }]);
    mailer.failures.push(new MailFailure('454 not now', false));
    expect(await deliver(mail('ada@example.com', { once: true }))).toMatchObject([{ state: failed, lastResult: '454 not now' }]);
  });

  it('are withdrawn when the account no longer has their destination', async () => {
    mailer.failures = [new MailFailure('454 not now', false), new MailFailure('454 not now', false), new MailFailure('454 not now', false)];
    await deliver(mail(), mail('bob@example.com'), { ...mail('eve@example.com'), accountId: newId('acct') });
    auth.clock.advance(1);
    const change = destinations({ destinations: ['bob@example.com'] });
    auth.clock.advance(1);
    // Its first attempt is over before the time at which the next one to bob is due.
    await deliver(change, mail('new@example.com'));
    // A repeat leaves later notifications alone.
    await append([change]);
    auth.clock.advance(10_000);
    await eventually(async () => ((await status()).pending === 0n ? true : undefined));
    expect((await list()).notifications.map(({ destination, state }) => [destination, state]).toSorted()).toEqual([
      ['ada@example.com', withdrawn],
      ['bob@example.com', delivered],
      ['new@example.com', delivered],
    ]);
    expect(mailer.mails.map(({ to }) => to).toSorted()).toEqual(['bob@example.com', 'eve@example.com', 'new@example.com']);
  });

  it('are not sent if they could not be stored', async () => {
    const twice = mail('twice@example.com');
    await expect(append([twice, twice])).rejects.toThrow();
    await deliver(mail());
    expect(mailer.mails.map(({ to }) => to)).toEqual(['ada@example.com']);
  });

  it('wait after a restore until they are resumed, or are withdrawn', async () => {
    const restored = await startTestAuth(engine, { mailer });
    try {
      await restored.module.stop();
      await pauseDeliveries(restored.db, restored.clock.nowMs());
      const replica = (await restored.startReplicaModule()).notifications.service;
      const state = async (entries: NotificationEntry[]) => {
        const { notifications } = await replica.appendNotifications({ entries, wait: true }, operator);
        return notifications.map(({ state: each, attempts }) => [each, attempts]);
      };
      const waiting = [mail(), mail()];
      expect(await state(waiting)).toEqual([
        [pending, 0],
        [pending, 0],
      ]);
      restored.clock.advance(3_600_000);
      await restored.startReplicaModule();
      const store = new NotificationStore(restored.db);
      const deps: Partial<DeliveryDeps> = { notifications: store, clock: restored.clock };
      const notifier = new Notifier(deps as DeliveryDeps);
      await notifier.begin();
      restored.clock.advance(keptDays * dayMs);
      await notifier.removeOld();
      expect(await store.find(waiting.map(({ id }) => id))).toHaveLength(2);
      await restored.db.transaction(async (tx) => {
        const [first] = await store.find([waiting[0]!.id], tx);
        await notifier.restart(tx, first!, first!.destination);
      });
      expect(await state(waiting)).toEqual([
        [pending, 0],
        [pending, 0],
      ]);
      expect(await replica.getDeliveryStatus({}, operator)).toMatchObject({ pending: 2n, pausedAtMs: expect.any(BigInt) });
      expect(mailer.mails.length).toBe(0);
      expect(await replica.resumeDeliveries({ withdrawPending: true }, operator)).toEqual({ withdrawn: 2n });
      expect(await replica.resumeDeliveries({ withdrawPending: true }, operator)).toEqual({ withdrawn: 0n });
      expect((await state(waiting)).map(([each]) => each)).toEqual([withdrawn, withdrawn]);
      await replica.appendNotifications({ entries: [mail('ada@example.com')], wait: false }, operator);
      await eventually(() => (mailer.mails.length === 1 ? true : undefined));
      expect((await replica.getDeliveryStatus({}, operator)).pausedAtMs).toBe(0n);
    } finally {
      await restored.stop();
    }
  });

  it('report that no mail server is set', async () => {
    const mute = await startTestAuth(engine);
    try {
      const { notifications } = await mute.notifications.appendNotifications({ entries: [mail()], wait: true }, operator);
      expect(notifications).toMatchObject([{ state: failed, lastResult: expect.stringContaining('TOLLGATE_SMTP_URL') }]);
      expect(await mute.notifications.getDeliveryStatus({}, operator)).toMatchObject({ mailConfigured: false });
    } finally {
      await mute.stop();
    }
  });

  it('keep texts encrypted, and do not log them', async () => {
    mailer.failures.push(new MailFailure('454 not now', false));
    await deliver(mail());
    const rows: Record<string, unknown>[] = await auth.db.knex('notification').select('sealed_content', 'event', 'outcome', 'destination');
    const kept = rows.flatMap((row) => Object.values(row)).join('\n') + auth.logLines.join('\n');
    expect(kept).toContain('454 not now');
    expect(kept).not.toContain('Add money.');
  });

  it('are listed by pages, newest first, and deleted some time after they were completed', async () => {
    for (let count = 0; count < 5; count += 1) {
      await deliver(mail());
      auth.clock.advance(1);
    }
    const all = (await list()).notifications;
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .toSorted()
        .reverse(),
    );
    const paged: Notification[] = [];
    let pageToken = '';
    do {
      const page = await list(2, pageToken);
      paged.push(...page.notifications);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(paged).toEqual(all);
    expect(all).toHaveLength(5);
    const ofAnother = { accountId: newId('acct'), pageSize: 0, pageToken: '', channel: 0, endpointId: '' };
    expect((await auth.notifications.listNotifications(ofAnother, operator)).notifications).toEqual([]);
    const store = new NotificationStore(auth.db);
    const beforeMs = auth.clock.nowMs();
    expect([
      await store.removeCompleted(beforeMs - 5, 10),
      await store.removeCompleted(beforeMs, 3),
      await store.removeCompleted(beforeMs, 10),
    ]).toEqual([0, 3, 2]);
    expect((await list()).notifications).toEqual([]);
  });

  it('are kept for some weeks after they were completed', async () => {
    await deliver(mail());
    const deps: Partial<DeliveryDeps> = { notifications: new NotificationStore(auth.db), clock: auth.clock };
    const notifier = new Notifier(deps as DeliveryDeps);
    auth.clock.advance(keptDays * dayMs);
    await notifier.removeOld();
    expect((await list()).notifications).toHaveLength(1);
    auth.clock.advance(1);
    await notifier.removeOld();
    expect((await list()).notifications).toEqual([]);
  });

  it('are claimed by one process only, even if another one reads them after the claim', async () => {
    mailer.failures = [new MailFailure('451 later', false)];
    const [{ id }] = (await deliver(mail())) as [Notification];
    const store = new NotificationStore(auth.db);
    const nowMs = auth.clock.nowMs() + 3_600_000;
    const read = async () => (await store.find([id]))[0]!;
    const before = await read();
    expect(await store.claim(before, nowMs, nowMs + 60_000)).toMatchObject({ attempts: 2 });
    expect(await store.claim(before, nowMs, nowMs + 60_000)).toBeUndefined();
    expect(await store.claim(await read(), nowMs, nowMs + 60_000)).toBeUndefined();
  });

  it('are not sent again while the mail server takes minutes to accept the content', async () => {
    const accepted = Promise.withResolvers<void>();
    mailer.accept = () => accepted.promise;
    await append([mail()]);
    await eventually(() => mailer.mails[0]);
    for (let minute = 0; minute < 10; minute += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      auth.clock.advance(60_000);
    }
    accepted.resolve();
    mailer.accept = async () => {};
    await eventually(async () => ((await status()).pending === 0n ? true : undefined));
    expect(mailer.mails).toHaveLength(1);
    expect(await only()).toMatchObject({ state: delivered, attempts: 1 });
  });

  it('keep their state when an earlier attempt ends after a later one has begun, or after they were withdrawn', async () => {
    mailer.failures = [new MailFailure('451 later', false)];
    const [{ id }] = (await deliver(mail())) as [Notification];
    const store = new NotificationStore(auth.db);
    const read = async () => (await store.find([id]))[0]!;
    const nowMs = auth.clock.nowMs() + 3_600_000;
    const first = await read();
    const second = (await store.claim(first, nowMs, nowMs + 60_000))!;
    const outcome = { state: delivered, outcome: '250 taken', dueAtMs: nowMs };
    await store.note(first, outcome);
    await auth.db.transaction(async (tx) => {
      expect(await store.restart(tx, first, { destination: 'eve@example.com', attempts: 2, dueAtMs: nowMs })).toBeUndefined();
    });
    expect(await read()).toEqual(second);
    await auth.db.transaction((tx) => store.withdrawAll(tx, { outcome: '', dueAtMs: nowMs }));
    await store.note(second, outcome);
    expect(await read()).toMatchObject({ state: withdrawn, attempts: 2 });
  });

  it.each([
    ['entries[0].id', { id: 'adl_1' }],
    ['entries[0].account_id', { accountId: '' }],
    ['entries[0].entry', { entry: undefined }],
    [
      'entries[0].notification.mail',
      { entry: { $case: 'notification', value: NewNotification.fromPartial({ destination: 'a@example.com' }) } },
    ],
    [
      'entries[0].destinations.destinations',
      { entry: { $case: 'destinations', value: { destinations: Array.from({ length: 101 }, String) } } },
    ],
    ['entries[0].event.event_json', { entry: { $case: 'event', value: { eventJson: '{"id":"evt_1","type":"balance.low"}' } } }],
    ['entries[0].event.event_json', { entry: { $case: 'event', value: { eventJson: JSON.stringify({ id: newId('evt'), type: 'x' }) } } }],
  ] as [string, Partial<NotificationEntry>][])('reject an invalid %s', async (field, fields) => {
    await expect(append([{ ...mail(), ...fields }])).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });
});
