// Notifications over a real database and real webhooks: delivered, retried with growing delays, withdrawn, listed, each once per id.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { type Mail, MailFailure, type Mailer } from '#kit/mail/mailer.js';
import { testEngines } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import {
  AccountDestinations,
  NewNotification,
  type Notification,
  type NotificationEntry,
  NotificationState,
} from '#proto/auth/v1/notifications.js';
import { operator, startTestAuth, type TestAuth } from '../testing/auth.js';
import { isSigned } from './signature.js';
import { NotificationStore } from './store.js';
import { type Receiver, startReceiver } from './testing/receiver.js';
import { pauseDeliveries } from '../store/installation.js';

const {
  NOTIFICATION_STATE_PENDING: pending,
  NOTIFICATION_STATE_DELIVERED: delivered,
  NOTIFICATION_STATE_FAILED: failed,
  NOTIFICATION_STATE_WITHDRAWN: withdrawn,
} = NotificationState;
const secret = 'whsec_first';
const accountId = newId('acct');

describe.each(testEngines)('notifications on %s', (engine) => {
  let auth: TestAuth;
  let receiver: Receiver;
  let mails: Mail[] = [];
  let failures: MailFailure[] = [];
  const mailer: Mailer = {
    async send(mail) {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      mails.push(mail);
      return '250 taken';
    },
    close: () => undefined,
  };

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.stop());
  beforeEach(async () => {
    [mails, failures] = [[], []];
    receiver.received.length = 0;
    receiver.answer = (response) => void response.end('thanks');
    auth = await startTestAuth(engine, { mailer });
  });
  afterEach(() => auth.stop());

  const entry = (of: NotificationEntry['entry'], id = newId('ntf', auth.clock.nowMs())): NotificationEntry => ({
    id,
    accountId,
    entry: of,
  });
  const notification = (fields: Parameters<typeof NewNotification.fromPartial>[0]): NotificationEntry =>
    entry({ $case: 'notification', value: NewNotification.fromPartial({ eventJson: '{"type":"balance.low"}', ...fields }) });
  const webhook = (fields: Parameters<typeof NewNotification.fromPartial>[0] = {}): NotificationEntry =>
    notification({ destination: receiver.url, content: { $case: 'webhook', value: { secret } }, ...fields });
  const mail = (destination = 'ada@example.com'): NotificationEntry =>
    notification({ destination, content: { $case: 'mail', value: { subject: 'Low balance', text: 'Add money.' } } });
  const destinations = (value: Partial<AccountDestinations>): NotificationEntry =>
    entry({ $case: 'destinations', value: AccountDestinations.fromPartial(value) });
  const append = (entries: NotificationEntry[], wait = false) => auth.notifications.appendNotifications({ entries, wait }, operator);
  const deliver = async (...entries: NotificationEntry[]): Promise<Notification[]> => (await append(entries, true)).notifications;
  const list = async (pageSize = 0, pageToken = '') => auth.notifications.listNotifications({ accountId, pageSize, pageToken }, operator);
  const only = async (): Promise<Notification> => (await list()).notifications[0]!;
  const status = () => auth.notifications.getDeliveryStatus({}, operator);

  it('are delivered by mail and by a signed request, and nothing of their content is kept', async () => {
    const hook = webhook();
    expect(await deliver(mail(), hook)).toMatchObject([
      { state: delivered, attempts: 1, lastResult: '250 taken', destination: 'ada@example.com' },
      { state: delivered, attempts: 1, lastResult: 'status 200: thanks', eventJson: '{"type":"balance.low"}' },
    ]);
    expect(mails).toMatchObject([{ to: 'ada@example.com', subject: 'Low balance', text: 'Add money.' }]);
    const [{ body, headers, path }] = receiver.received as [(typeof receiver.received)[0]];
    expect({ path, body, id: headers['tollgate-delivery'] }).toEqual({ path: '/hook?of=us', body: '{"type":"balance.low"}', id: hook.id });
    expect(isSigned(String(headers['tollgate-signature']), body, secret, auth.clock.nowMs())).toBe(true);
    expect(isSigned(String(headers['tollgate-signature']), body, `${secret}x`, auth.clock.nowMs())).toBe(false);
    expect(await auth.db.knex('notification').whereNotNull('sealed_content')).toEqual([]);
  });

  it('are delivered once, however often and by however many callers they are appended', async () => {
    const hook = webhook();
    await Promise.all([append([hook]), append([hook]), append([hook, mail()])]);
    await deliver(hook);
    await eventually(async () => ((await status()).pending === 0n ? true : undefined));
    await append([{ ...hook, entry: webhook({ destination: 'https://elsewhere.example.com/' }).entry }]);
    expect(receiver.received).toHaveLength(1);
    expect(mails).toHaveLength(1);
    expect((await list()).notifications).toHaveLength(2);
  });

  it('are retried with growing delays, then given up, with the response of the receiver and one id', async () => {
    receiver.answer = (response) => void response.writeHead(503).end('not \u0007now\n');
    await append([webhook()]);
    for (const [index, waitMs] of [10_000, 40_000, 160_000, 640_000, 2_560_000].entries()) {
      const attempts = index + 1;
      // While an attempt is in progress, the next one is due when its claim expires.
      await eventually(async () => (Number((await only()).nextAttemptAtMs) === auth.clock.nowMs() + waitMs ? true : undefined));
      expect(await only()).toMatchObject({ state: pending, attempts, lastResult: 'status 503: not now', endedAtMs: 0n });
      expect(receiver.received).toHaveLength(attempts);
      auth.clock.advance(waitMs);
      await eventually(() => (receiver.received.length > attempts ? true : undefined));
    }
    await eventually(async () => ((await only()).state === failed ? true : undefined));
    expect(await only()).toMatchObject({ attempts: 6, nextAttemptAtMs: 0n });
    expect(new Set(receiver.received.map(({ headers }) => headers['tollgate-delivery'])).size).toBe(1);
    expect(await auth.db.knex('notification').whereNotNull('sealed_content')).toEqual([]);
  });

  it('are not retried after a permanent failure, nor where they are sent only once', async () => {
    failures.push(new MailFailure('550 no such mailbox', true));
    receiver.answer = (response) => void response.writeHead(410).end();
    expect((await deliver(mail(), webhook())).map(({ state, lastResult }) => [state, lastResult])).toEqual([
      [failed, '550 no such mailbox'],
      [failed, 'status 410'],
    ]);
    receiver.answer = (response) => void response.writeHead(503).end();
    expect(await deliver(webhook({ once: true }))).toMatchObject([{ state: failed, lastResult: 'status 503' }]);
  });

  it('are delivered by another process, under the same id, when one ended during an attempt', async () => {
    receiver.answer = () => undefined;
    await append([webhook()]);
    await eventually(() => (receiver.received.length === 1 ? true : undefined));
    expect(await status()).toMatchObject({ pending: 1n, oldestPendingAtMs: BigInt(auth.clock.nowMs()) });
    receiver.answer = (response) => void response.end('thanks');
    auth.clock.advance(20_000);
    await eventually(async () => ((await only()).state === delivered ? true : undefined));
    expect(receiver.received.map(({ headers }) => headers['tollgate-delivery'])).toEqual([(await only()).id, (await only()).id]);
    expect(await status()).toMatchObject({ pending: 0n, oldestPendingAtMs: 0n });
  });

  it('are withdrawn when the account no longer has their destination, and signed with its new secret', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    failures.push(new MailFailure('454 not now', false));
    await deliver(mail(), webhook());
    auth.clock.advance(1);
    const change = destinations({ destinations: [receiver.url], webhookSecret: 'whsec_second' });
    auth.clock.advance(1);
    failures.push(new MailFailure('454 not now', false));
    await append([change, mail('new@example.com')]);
    // A repeat leaves later notifications alone.
    await append([change]);
    receiver.answer = (response) => void response.end();
    auth.clock.advance(10_000);
    await eventually(async () => ((await status()).pending === 0n ? true : undefined));
    expect((await list()).notifications.map(({ destination, state }) => [destination, state]).toSorted()).toEqual(
      [
        ['ada@example.com', withdrawn],
        ['new@example.com', delivered],
        [receiver.url, delivered],
      ].toSorted(),
    );
    const { headers, body } = receiver.received.at(-1)!;
    expect(isSigned(String(headers['tollgate-signature']), body, 'whsec_second', auth.clock.nowMs())).toBe(true);
  });

  it('follow no redirect, limit how much of a response they read, and connect to no private address without permission', async () => {
    const test = async (fields = {}): Promise<string> => (await deliver(webhook({ once: true, ...fields })))[0]!.lastResult;
    receiver.answer = (response) => void response.writeHead(302, { location: receiver.url }).end();
    expect(await test()).toBe('status 302, a redirect, which is not followed');
    expect(receiver.received).toHaveLength(1);
    receiver.answer = (response) => void response.writeHead(200).end('x'.repeat(10_000_000));
    expect((await test()).length).toBeLessThan(300);
    receiver.answer = (response) => void response.destroy();
    expect(await test()).toContain('not reached');
    auth.config.privateWebhooks = false;
    expect(await test()).toContain('not connected to');
    expect(await test({ destination: 'http://localhost:1/hook' })).toContain('private or reserved');
    expect(await status()).toMatchObject({ privateWebhooks: false, mailConfigured: true });
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
      const waiting = [mail(), webhook()];
      expect(await state(waiting)).toEqual([
        [pending, 0],
        [pending, 0],
      ]);
      restored.clock.advance(3_600_000);
      await restored.startReplicaModule();
      expect(await replica.getDeliveryStatus({}, operator)).toMatchObject({ pending: 2n, pausedAtMs: expect.any(BigInt) });
      expect([mails.length, receiver.received.length]).toEqual([0, 0]);
      expect(await replica.resumeDeliveries({ withdrawPending: true }, operator)).toEqual({ withdrawn: 2n });
      expect(await replica.resumeDeliveries({ withdrawPending: true }, operator)).toEqual({ withdrawn: 0n });
      expect((await state(waiting)).map(([each]) => each)).toEqual([withdrawn, withdrawn]);
      await replica.appendNotifications({ entries: [mail('ada@example.com')], wait: false }, operator);
      await eventually(() => (mails.length === 1 ? true : undefined));
      expect((await replica.getDeliveryStatus({}, operator)).pausedAtMs).toBe(0n);
    } finally {
      await restored.stop();
    }
  });

  it('report that no mail server is set, and that a secret cannot be read', async () => {
    const mute = await startTestAuth(engine);
    try {
      const { notifications } = await mute.notifications.appendNotifications(
        { entries: [mail(), webhook({ content: { $case: 'webhook', value: { secret: '' } } })], wait: true },
        operator,
      );
      expect(notifications).toMatchObject([
        { state: failed, lastResult: expect.stringContaining('TOLLGATE_SMTP_URL') },
        { state: failed, lastResult: expect.stringContaining('signing secret') },
      ]);
      expect(await mute.notifications.getDeliveryStatus({}, operator)).toMatchObject({ mailConfigured: false });
    } finally {
      await mute.stop();
    }
  });

  it('keep secrets and texts encrypted, and log neither', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    failures.push(new MailFailure('454 not now', false));
    await deliver(mail(), webhook());
    const rows: Record<string, unknown>[] = await auth.db.knex('notification').select('sealed_content', 'event', 'outcome', 'destination');
    const kept = rows.flatMap((row) => Object.values(row)).join('\n') + auth.logLines.join('\n');
    expect(kept).toContain('status 503');
    expect(kept).not.toContain(secret);
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
    const store = new NotificationStore(auth.db);
    const beforeMs = auth.clock.nowMs();
    expect([
      await store.removeCompleted(beforeMs - 5, 10),
      await store.removeCompleted(beforeMs, 3),
      await store.removeCompleted(beforeMs, 10),
    ]).toEqual([0, 3, 2]);
    expect((await list()).notifications).toEqual([]);
  });

  it.each([
    ['entries[0].id', { id: 'adl_1' }],
    ['entries[0].account_id', { accountId: '' }],
    ['entries[0].entry', { entry: undefined }],
    [
      'entries[0].notification.content',
      { entry: { $case: 'notification', value: NewNotification.fromPartial({ destination: 'a@example.com' }) } },
    ],
    [
      'entries[0].destinations.destinations',
      { entry: { $case: 'destinations', value: { destinations: Array.from({ length: 101 }, String), webhookSecret: '' } } },
    ],
    ['entries[0].notification.destination', { entry: webhookTo('ftp://example.com') }],
    ['entries[0].notification.destination', { entry: webhookTo(`https://example.com/${'x'.repeat(2048)}`) }],
  ] as [string, Partial<NotificationEntry>][])('reject an invalid %s', async (field, fields) => {
    await expect(append([{ ...mail(), ...fields }])).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });
});

function webhookTo(destination: string): NotificationEntry['entry'] {
  const content = { $case: 'webhook', value: { secret } } as const;
  return { $case: 'notification', value: NewNotification.fromPartial({ destination, content }) };
}
