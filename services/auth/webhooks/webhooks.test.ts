// Webhooks over a real database and real HTTP: events reach the endpoints that receive them, signed, each once; failures are retried, then end.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { MailFailure } from '#kit/mail/mailer.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import { testEngines } from '#kit/testing/database.js';
import { collectMetrics } from '#kit/telemetry/metrics.js';
import { eventually } from '#kit/testing/waiting.js';
import type { Account } from '#proto/auth/v1/auth.js';
import { NewNotification, type Notification, NotificationState } from '#proto/auth/v1/notifications.js';
import { CreateUserRequest, Role } from '#proto/auth/v1/users.js';
import { type WebhookEndpoint, WebhookEndpointState } from '#proto/auth/v1/webhooks.js';
import { type WebhookBody, webhookBody, webhookEvents, type WebhookEventType, webhookEventTypes } from '#rules/webhook-events.js';
import { type HttpReceiver, startHttpReceiver } from '../../../tests/support/vendors/receivers.js';
import { signatureHeaders } from '../notifications/signature.js';
import { NotificationStore } from '../notifications/store.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from '../testing/auth.js';
import { TestMailer } from '../testing/test-mailer.js';
import { manualPerHourMax } from './deps.js';
import { failingMsMax, mailsPerHourMax } from './endpoint-health.js';
import { endpointsMax, WebhookEndpointStore } from './endpoint-store.js';
import { pendingMax } from './events.js';

const {
  NOTIFICATION_STATE_PENDING: pending,
  NOTIFICATION_STATE_DELIVERED: delivered,
  NOTIFICATION_STATE_FAILED: failed,
} = NotificationState;

describe.each(testEngines)('webhooks on %s', (engine) => {
  let auth: TestAuth;
  let account: Account;
  let receiver: HttpReceiver;
  let other: HttpReceiver;
  const mailer = new TestMailer();

  beforeAll(async () => {
    const path = '/hook?of=us';
    [receiver, other] = await Promise.all([startHttpReceiver(path), startHttpReceiver(path)]);
  });
  afterAll(() => Promise.all([receiver.stop(), other.stop()]));
  beforeEach(async () => {
    [mailer.mails, mailer.failures] = [[], []];
    for (const each of [receiver, other]) {
      each.requests.length = 0;
      each.answer = (response) => void response.end('thanks');
    }
    auth = await startTestAuth(engine, { mailer });
    account = await newAccount(auth.service);
  });
  afterEach(() => auth.stop());

  const create = (url = receiver.url, eventTypes: readonly string[] = webhookEventTypes, accountId = account.id) => {
    // Ids of one millisecond have no order.
    auth.clock.advance(1);
    return auth.webhooks.createWebhookEndpoint({ accountId, url, description: '', eventTypes: [...eventTypes], language: 'en' }, operator);
  };
  const endpoints = async (): Promise<WebhookEndpoint[]> =>
    (await auth.webhooks.listWebhookEndpoints({ accountId: account.id }, operator)).endpoints;
  const publish = async (type: WebhookEventType = 'key.refused', accountId = account.id): Promise<string> => {
    const id = newId('evt', auth.clock.nowMs());
    const eventJson = webhookBody({ id, type, accountId, atMs: auth.clock.nowMs(), data: webhookEvents[type].example });
    const entry = { id: newId('ntf', auth.clock.nowMs()), accountId, entry: { $case: 'event', value: { eventJson } } } as const;
    // The sender repeats an event that was not acknowledged.
    for (let turn = 0; turn < 2; turn += 1) await auth.notifications.appendNotifications({ entries: [entry], wait: false }, operator);
    return id;
  };
  const log = async (endpointId = ''): Promise<Notification[]> => {
    const request = { accountId: account.id, pageSize: 0, pageToken: '', channel: 2, endpointId };
    return (await auth.notifications.listNotifications(request, operator)).notifications;
  };
  const oldestAge = async () => (await collectMetrics()).find(({ name }) => name === 'tollgate.notifications.oldest_age')?.series[0]?.value;
  const got = (by: HttpReceiver = receiver): WebhookBody[] => by.requests.map(({ body }) => JSON.parse(body) as WebhookBody);
  const settled = (count: number) =>
    eventually(async () => {
      const found = await log();
      return found.length === count && found.every(({ state }) => state !== pending) ? found : undefined;
    });
  const update = (endpoint: WebhookEndpoint, fields: { url?: string; enabled?: boolean }) =>
    auth.webhooks.updateWebhookEndpoint(
      { ...endpoint, accountId: account.id, endpointId: endpoint.id, enabled: true, ...fields },
      operator,
    );
  it('post an event to the endpoints that receive its type, signed, once, and list it', async () => {
    const { secret } = await create();
    await create(other.url, ['funds.added']);
    const eventId = await publish();
    const [delivery] = await settled(1);
    expect(delivery).toMatchObject({ state: delivered, attempts: 1, lastResult: 'status 200: thanks', destination: receiver.url });
    expect(other.requests).toEqual([]);
    const [{ body, headers }] = receiver.requests as [(typeof receiver.requests)[0]];
    expect(JSON.parse(body)).toMatchObject({ id: eventId, type: 'key.refused', account_id: account.id });
    expect(headers).toMatchObject(signatureHeaders({ eventId, body, secrets: [secret], nowMs: auth.clock.nowMs() }));
    const kept = JSON.stringify(await auth.db.knex('webhook_endpoint').select('sealed_secret', 'url')) + auth.logLines.join('\n');
    expect(kept).not.toContain(secret);
  });

  it('report keys that were created and revoked, and changes from other services', async () => {
    await create();
    const { key } = await newKey(auth.service, account);
    await auth.service.revokeKey({ keyId: key.id, accountId: account.id }, operator);
    const record = {
      actorUserId: '',
      actorName: 'ledger',
      clientAddress: '',
      caller: 'ledger',
      atMs: 1n,
      number: 0n,
      hash: Buffer.alloc(0),
    };
    const detail = { amount_usd: '25', reason: 'stripe cs_1', source: 'cash', after: { available_usd: '30' } };
    const credit = {
      ...record,
      id: newId('aud'),
      accountId: account.id,
      action: 'account.credit',
      targetId: newId('ent'),
      detailJson: JSON.stringify(detail),
    };
    for (let turn = 0; turn < 2; turn += 1) await auth.users.appendAuditEvents({ events: [credit] }, operator);
    await settled(3);
    expect(got().toSorted((a, b) => a.type.localeCompare(b.type))).toMatchObject([
      { type: 'funds.added', data: { entry_id: credit.targetId, amount_usd: '25', source: 'cash', available_usd: '30' } },
      { type: 'key.created', data: { key_id: key.id, project_id: key.projectId, name: 'laptop' } },
      { type: 'key.revoked', data: { key_id: key.id, name: 'laptop' } },
    ]);
  });

  it('post an event for every account to the endpoints of all', async () => {
    const second = await newAccount(auth.service, 'Bob');
    await create();
    await create(other.url, ['price.published'], second.id);
    const { example } = webhookEvents['price.published'];
    const { model, ...detail } = example;
    const record = { actorUserId: '', actorName: 'x', clientAddress: '', caller: 'catalog', atMs: 1n, accountId: '', number: 0n };
    const price = {
      ...record,
      id: newId('aud'),
      hash: Buffer.alloc(0),
      action: 'price.publish',
      targetId: model,
      detailJson: JSON.stringify(detail),
    };
    // More endpoints than one page has, which do not receive it.
    const row: Record<string, unknown> = (await auth.db.knex('webhook_endpoint').first())!;
    const idOf = (index: number) => Buffer.from(index.toString(16).padStart(32, '0'), 'hex');
    const more = Array.from({ length: 200 }, (_, index) => ({ ...row, id: idOf(index), event_types: '["key.created"]' }));
    for (let at = 0; at < more.length; at += 50) await auth.db.knex('webhook_endpoint').insert(more.slice(at, at + 50));
    await auth.users.appendAuditEvents({ events: [price] }, operator);
    await eventually(() => (receiver.requests.length + other.requests.length === 2 ? true : undefined));
    expect([...got(), ...got(other)]).toEqual([1, 2].map(() => expect.objectContaining({ account_id: null, data: example })));
  });

  it('retry for more than a day with growing delays, under one id, then stop', async () => {
    receiver.answer = (response) => void response.writeHead(503).end(`not \u0007now${'x'.repeat(5000)}`);
    await create();
    await publish();
    for (const [index, waitMs] of [10_000, 40_000, 160_000, 640_000, 2_560_000, 10_240_000, 40_960_000, 43_200_000].entries()) {
      const next = BigInt(auth.clock.nowMs() + waitMs);
      const [found] = await eventually(async () => ((await log())[0]!.nextAttemptAtMs === next ? await log() : undefined));
      expect(found).toMatchObject({ state: pending, attempts: index + 1 });
      // The endpoint is late, not Tollgate.
      expect(await oldestAge()).toBe(0);
      auth.clock.advance(waitMs);
    }
    const [last] = await settled(1);
    expect(last).toMatchObject({ state: failed, attempts: 9, lastResult: expect.stringMatching(/^status 503: not nowx{900,1020}$/) });
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect((await endpoints())[0]!.failingSinceMs).toBeGreaterThan(0n);
  });

  it('are delivered by another process when one ended during an attempt', async () => {
    receiver.answer = () => undefined;
    await create();
    await publish();
    await eventually(() => (receiver.requests.length === 1 ? true : undefined));
    receiver.answer = (response) => void response.end('thanks');
    auth.clock.advance(20_000);
    const [found] = await settled(1);
    expect(found).toMatchObject({ state: delivered, attempts: 2 });
  });

  it('are not delayed by an endpoint that does not answer, for which only a limited number waits', async () => {
    const hanging: ServerResponse[] = [];
    receiver.answer = (response) => void hanging.push(response);
    const { endpoint } = await create();
    await create(other.url);
    for (let count = 0; count < 60; count += 1) await publish();
    await eventually(() => (other.requests.length === 60 ? true : undefined));
    // On a busy machine the first ones have run into their time limit by now.
    expect(hanging.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(4);
    const rows = Array.from({ length: pendingMax }, () => ({
      id: Buffer.from(newId('ntf', auth.clock.nowMs()).slice(4), 'hex'),
      account_id: Buffer.from(account.id.slice(5), 'hex'),
      endpoint_id: Buffer.from(endpoint!.id.slice(4), 'hex'),
      depends_on: '',
      channel: 2,
      destination: receiver.url,
      event: '{}',
      state: pending,
      attempts: 1,
      attempts_max: 9,
      outcome: '',
      due_at_ms: auth.clock.nowMs() + dayMs,
    }));
    for (let at = 0; at < rows.length; at += 50) await auth.db.knex('notification').insert(rows.slice(at, at + 50));
    // It is the newest on the first page.
    auth.clock.advance(1);
    const eventId = await publish();
    const full = (await log(endpoint!.id)).find(({ eventJson }) => eventJson.includes(eventId));
    expect(full).toMatchObject({ state: failed, attempts: 0, lastResult: expect.stringContaining('waiting for this endpoint') });
    // What was delivered no longer waits.
    await auth.db.knex('notification').update({ state: delivered });
    auth.clock.advance(1);
    const nextId = await publish();
    expect((await log(endpoint!.id)).find(({ eventJson }) => eventJson.includes(nextId))).toMatchObject({ state: pending });
    await auth.db.knex('notification').delete();
    for (const response of hanging) response.end();
  });

  it.each([
    [1, 6, 12],
    [4, 2, 39],
  ])('of an account are not delayed by those of %d others whose endpoints do not answer', async (others, events, openMax) => {
    const hanging: ServerResponse[] = [];
    receiver.answer = (response) => void hanging.push(response);
    for (let number = 0; number < others; number += 1) {
      const { id } = await newAccount(auth.service, 'Bob');
      for (let count = 0; count < endpointsMax; count += 1) await create(receiver.url, webhookEventTypes, id);
      for (let count = 0; count < events; count += 1) await publish('key.refused', id);
    }
    await create(other.url);
    await publish();
    const [delivery] = await settled(1);
    expect(delivery).toMatchObject({ state: delivered, destination: other.url });
    expect(hanging.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(openMax);
    receiver.answer = (response) => void response.end();
    for (const response of hanging) response.end();
    await eventually(() => (receiver.requests.length === others * events * endpointsMax ? true : undefined));
  });

  it('do not hold up emails, however many endpoints do not answer', async () => {
    const hanging: ServerResponse[] = [];
    receiver.answer = (response) => void hanging.push(response);
    const others = await Promise.all(['Bob', 'Cleo', 'Dan', 'Eve'].map((name) => newAccount(auth.service, name)));
    for (const { id } of [account, ...others]) {
      for (let count = 0; count < endpointsMax; count += 1) await create(receiver.url, webhookEventTypes, id);
      for (let count = 0; count < 4; count += 1) await publish('key.refused', id);
    }
    const notification = NewNotification.fromPartial({
      destination: 'ada@example.com',
      eventJson: '{}',
      mail: { subject: 'Low balance', text: 'Add money.' },
    });
    const entry = {
      id: newId('ntf', auth.clock.nowMs()),
      accountId: account.id,
      entry: { $case: 'notification', value: notification },
    } as const;
    const { notifications } = await auth.notifications.appendNotifications({ entries: [entry], wait: true }, operator);
    receiver.answer = (response) => void response.end();
    for (const response of hanging) response.end();
    expect(notifications).toMatchObject([{ state: delivered }]);
    await settled(4 * endpointsMax);
  });

  it('are not held up by emails, however many a mail server does not accept yet', async () => {
    const accepted = Promise.withResolvers<void>();
    mailer.accept = () => accepted.promise;
    const mails = Array.from({ length: 60 }, () => {
      const mail = { subject: 'Low balance', text: 'Add money.' };
      const value = NewNotification.fromPartial({ destination: 'ada@example.com', eventJson: '{}', mail });
      return { id: newId('ntf', auth.clock.nowMs()), accountId: account.id, entry: { $case: 'notification', value } } as const;
    });
    await auth.notifications.appendNotifications({ entries: mails, wait: false }, operator);
    await create();
    await publish();
    await settled(1);
    mailer.accept = async () => {};
    accepted.resolve();
    await eventually(() => (mailer.mails.length === mails.length ? true : undefined));
  });

  it('disable an endpoint that failed for three days or is gone, and mail the owners', async () => {
    const { user } = await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'ada@example.com', name: 'Ada' }), operator);
    await auth.users.putMember({ accountId: account.id, userId: user!.id, role: Role.ROLE_OWNER }, operator);
    receiver.answer = (response) => void response.writeHead(500).end();
    await create();
    await create(other.url);
    for (let passed = 0; passed < failingMsMax; passed += dayMs / 2) {
      await publish();
      await eventually(async () => ((await log()).every(({ lastResult }) => lastResult !== '') ? true : undefined));
      // The failure of the endpoint is recorded after the result of the request.
      await eventually(async () => {
        const row: Record<string, unknown> | undefined = await auth.db.knex('webhook_endpoint').first().max('last_failed_at_ms as ms');
        return Number(row?.['ms']) === auth.clock.nowMs() ? true : undefined;
      });
      auth.clock.advance(dayMs / 2);
    }
    await publish();
    await eventually(async () => (mailer.mails.length > 0 ? true : undefined));
    const [first, second] = await endpoints();
    expect([first!.state, second!.state]).toEqual([
      WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_FAILED,
      WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED,
    ]);
    expect(mailer.mails).toMatchObject([{ to: 'ada@example.com', subject: `Webhook endpoint disabled: ${new URL(receiver.url).host}` }]);
    expect((await log(first!.id)).every(({ state }) => state !== pending)).toBe(true);
    // The mail is in the language in which the endpoint was last saved.
    await auth.webhooks.updateWebhookEndpoint({ ...second!, endpointId: second!.id, enabled: true, language: 'zh' }, operator);
    other.answer = (response) => void response.writeHead(410).end('Win at https://evil.example');
    await publish();
    await eventually(async () => (mailer.mails.length > 1 ? true : undefined));
    expect((await endpoints())[1]!.state).toBe(WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_FAILED);
    expect(mailer.mails[1]).toMatchObject({
      subject: `Webhook 端点已停用：${new URL(other.url).host}`,
      text: expect.stringContaining('410'),
    });
    // Nobody can put text of their own into the mails: neither the server of the endpoint nor a user who enters a stranger's address.
    for (const { text } of mailer.mails) expect(text).not.toMatch(/evil|of=us/);
    receiver.answer = (response) => void response.end();
    expect((await update(first!, { enabled: true })).endpoint).toMatchObject({ failingSinceMs: 0n });
    const eventId = await publish();
    await eventually(() => got().some(({ id }) => id === eventId) || undefined);
  });

  it('get no request for an event that is published while they are disabled', async () => {
    const { endpoint } = await create();
    await create(other.url);
    let publishing: Promise<string> | undefined;
    await auth.db.transaction(async (tx) => {
      await tx('webhook_endpoint').where({ url: endpoint!.url }).update({ state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_FAILED });
      publishing = publish();
      await new Promise((resolve) => setTimeout(resolve, 100));
    });
    await publishing;
    const deliveries = await settled(1);
    expect(deliveries).toMatchObject([{ destination: other.url }]);
  });

  it('do not disable an endpoint for single failures that are days apart', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    const { endpoint } = await create();
    await publish();
    await eventually(async () => ((await endpoints())[0]!.failingSinceMs > 0n ? true : undefined));
    await auth.db.knex('notification').delete();
    auth.clock.advance(failingMsMax + dayMs);
    await publish();
    await eventually(async () => ((await endpoints())[0]!.failingSinceMs === BigInt(auth.clock.nowMs()) ? true : undefined));
    expect((await endpoints())[0]!.state).toBe(WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED);
    expect(await log(endpoint!.id)).toMatchObject([{ state: pending, attempts: 1 }]);
  });

  it('end the failures of an endpoint with one that succeeds', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    await create();
    await publish();
    await eventually(async () => ((await endpoints())[0]!.failingSinceMs > 0n ? true : undefined));
    receiver.answer = (response) => void response.end();
    await publish();
    await eventually(async () => ((await endpoints())[0]!.failingSinceMs === 0n ? true : undefined));
  });

  it('do not disable an endpoint that an owner has enabled again meanwhile', async () => {
    const endpoint = (await create()).endpoint!;
    const store = new WebhookEndpointStore(auth.db, {} as SecretBox);
    const [failedAtMs, nowMs] = [auth.clock.nowMs(), auth.clock.nowMs() + failingMsMax];
    expect(await store.noteFailure(endpoint, failedAtMs, dayMs)).toBe(failedAtMs);
    await update(endpoint, { enabled: false });
    await update(endpoint, { enabled: true });
    await auth.db.transaction(async (tx) => {
      expect(await store.disableFailed(tx, endpoint, nowMs, failedAtMs)).toBeUndefined();
    });
    expect(await endpoints()).toMatchObject([{ state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED, failingSinceMs: 0n }]);
  });

  it('belong to their account: no other can change them, replace their secrets, delete them or send to them', async () => {
    const endpoint = (await create()).endpoint!;
    const stranger = { accountId: (await newAccount(auth.service, 'Eve')).id, endpointId: endpoint.id };
    for (const call of [
      () => auth.webhooks.updateWebhookEndpoint({ ...endpoint, ...stranger, url: other.url, enabled: true }, operator),
      () => auth.webhooks.rotateWebhookSecret({ ...stranger, overlapSeconds: 0 }, operator),
      () => auth.webhooks.deleteWebhookEndpoint(stranger, operator),
      () => auth.webhooks.sendTestEvent({ ...stranger, eventType: 'key.refused' }, operator),
    ])
      await expect(call()).rejects.toMatchObject({ reason: 'not_found' });
    expect(await endpoints()).toEqual([endpoint]);
    expect(receiver.requests).toEqual([]);
  });

  it('do not count failed test events', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    const { endpoint } = await create();
    await auth.webhooks.sendTestEvent({ accountId: account.id, endpointId: endpoint!.id, eventType: 'key.refused' }, operator);
    expect(await endpoints()).toMatchObject([{ state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED, failingSinceMs: 0n }]);
  });

  it('mail the owners of a disabled endpoint even when the alerts of the account are switched off meanwhile', async () => {
    const { user } = await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'ada@example.com', name: 'Ada' }), operator);
    await auth.users.putMember({ accountId: account.id, userId: user!.id, role: Role.ROLE_OWNER }, operator);
    mailer.failures.push(new MailFailure('454 not now', false));
    receiver.answer = (response) => void response.writeHead(410).end();
    await create();
    await publish();
    const mails = async (): Promise<Notification[]> => {
      const request = { accountId: account.id, pageSize: 0, pageToken: '', channel: 1, endpointId: '' };
      return (await auth.notifications.listNotifications(request, operator)).notifications;
    };
    await eventually(async () => ((await mails())[0]?.lastResult === '454 not now' ? true : undefined));
    auth.clock.advance(1);
    const value = { destinations: [] };
    const entry = { id: newId('ntf', auth.clock.nowMs()), accountId: account.id, entry: { $case: 'destinations', value } } as const;
    await auth.notifications.appendNotifications({ entries: [entry], wait: false }, operator);
    expect(await mails()).toMatchObject([{ state: pending }]);
    auth.clock.advance(10_000);
    await eventually(() => (mailer.mails.length > 0 ? true : undefined));
    expect(mailer.mails).toMatchObject([{ to: 'ada@example.com', subject: expect.stringContaining('disabled') }]);
  });

  it('count one email for an endpoint, even if several requests find it gone at once', async () => {
    const { user } = await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'ada@example.com', name: 'Ada' }), operator);
    await auth.users.putMember({ accountId: account.id, userId: user!.id, role: Role.ROLE_OWNER }, operator);
    const waiting: ServerResponse[] = [];
    receiver.answer = (response) => void waiting.push(response);
    await create();
    for (let count = 0; count < 4; count += 1) await publish();
    await eventually(() => (waiting.length === 4 ? true : undefined));
    for (const response of waiting) response.writeHead(410).end();
    await auth.module.stop();
    expect(mailer.mails).toHaveLength(1);
    const counts: Record<string, unknown>[] = await auth.db.knex('mail_count').select('mails');
    expect(counts.map(({ mails }) => Number(mails))).toEqual([1]);
  });

  it('mail an owner a limited number of times within an hour, however often endpoints are gone', async () => {
    const { user } = await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'ada@example.com', name: 'Ada' }), operator);
    await auth.users.putMember({ accountId: account.id, userId: user!.id, role: Role.ROLE_OWNER }, operator);
    receiver.answer = (response) => void response.writeHead(410).end();
    const { endpoint } = await create();
    for (let turn = 0; turn <= mailsPerHourMax; turn += 1) {
      await update(endpoint!, { enabled: true });
      await publish();
      await eventually(async () =>
        (await endpoints())[0]!.state === WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_FAILED ? true : undefined,
      );
    }
    const request = { accountId: account.id, pageSize: 0, pageToken: '', channel: 1, endpointId: '' };
    const mails = await eventually(async () => {
      const { notifications } = await auth.notifications.listNotifications(request, operator);
      return notifications.every(({ state }) => state !== pending) ? notifications : undefined;
    });
    expect(mails.map(({ lastResult }) => lastResult).sort()).toEqual([
      ...Array.from({ length: mailsPerHourMax }, () => '250 taken'),
      'too many emails were sent within an hour',
    ]);
  });

  it('sign with both secrets during a rotation, and with one after it', async () => {
    const { endpoint } = await create();
    const { secret } = await auth.webhooks.rotateWebhookSecret(
      { accountId: account.id, endpointId: endpoint!.id, overlapSeconds: 3600 },
      operator,
    );
    expect(secret).toMatch(/^whsec_/);
    await publish();
    await settled(1);
    auth.clock.advance(3_600_001);
    await publish();
    await settled(2);
    const signatures = receiver.requests.map(({ headers }) => String(headers['webhook-signature']).split(' ').length);
    expect(signatures).toEqual([2, 1]);
  });

  it('send a test and a past event again on demand, within a limit', async () => {
    const { endpoint } = await create();
    const test = () =>
      auth.webhooks.sendTestEvent({ accountId: account.id, endpointId: endpoint!.id, eventType: 'budget.reached' }, operator);
    receiver.answer = (response) => void response.writeHead(410).end('gone');
    expect((await test()).delivery).toMatchObject({ state: failed, attempts: 1, lastResult: 'status 410: gone' });
    expect((await endpoints())[0]).toMatchObject({ state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED });
    expect(got()).toMatchObject([{ type: 'budget.reached', test: true, data: webhookEvents['budget.reached'].example }]);
    receiver.answer = (response) => void response.end('mended');
    const deliveryId = (await log())[0]!.id;
    const resend = () => auth.webhooks.resendWebhookDelivery({ accountId: account.id, deliveryId }, operator);
    expect((await resend()).delivery).toMatchObject({ state: delivered, attempts: 2, lastResult: 'status 200: mended' });
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    // The search for due notifications, which runs all the time here, does not take it away.
    receiver.answer = (response) => void setTimeout(() => response.end('slow'), 15);
    for (let turn = 3; turn < 33; turn += 1) expect((await resend()).delivery).toMatchObject({ state: delivered, attempts: turn });
    await update(endpoint!, { enabled: false });
    await expect(resend()).rejects.toMatchObject({ reason: 'failed_precondition' });
    const stranger = await newAccount(auth.service, 'Eve');
    await expect(auth.webhooks.resendWebhookDelivery({ accountId: stranger.id, deliveryId }, operator)).rejects.toMatchObject({
      reason: 'not_found',
    });
    await auth.db.knex('mail_count').update({ mails: manualPerHourMax });
    await expect(test()).rejects.toMatchObject({ reason: 'overloaded' });
  });

  it('are retried as before when a user sends one again that is waiting', async () => {
    receiver.answer = (response) => void response.writeHead(503).end();
    await create();
    await publish();
    const [{ id: deliveryId }] = (await eventually(async () => {
      const found = await log();
      return found[0]!.lastResult === 'status 503' ? found : undefined;
    })) as [Notification];
    const { delivery } = await auth.webhooks.resendWebhookDelivery({ accountId: account.id, deliveryId }, operator);
    expect(delivery).toMatchObject({ state: pending, attempts: 2, lastResult: 'status 503' });
  });

  it('are kept when a user sends one again at the moment when old ones are removed', async () => {
    await create();
    await publish();
    const [{ id }] = (await settled(1)) as [Notification];
    const store = new NotificationStore(auth.db);
    const [before] = await store.find([id]);
    const nowMs = auth.clock.nowMs();
    let removing: Promise<number> | undefined;
    await auth.db.transaction(async (tx) => {
      await store.restart(tx, before!, { destination: receiver.url, attempts: 2, dueAtMs: nowMs + 20_000 });
      removing = store.removeCompleted(nowMs + 1, 10);
      await Promise.race([removing, sleep(300)]);
    });
    await removing;
    expect(await store.find([id])).toMatchObject([{ state: pending, attempts: 2 }]);
  });

  it('follow a changed address, and are withdrawn if they wait for an endpoint that is disabled or deleted', async () => {
    const { endpoint } = await create();
    await publish();
    const past = await settled(1);
    auth.clock.advance(1);
    receiver.answer = (response) => void response.writeHead(503).end();
    await publish();
    await eventually(async () => ((await log())[0]!.lastResult === 'status 503' ? true : undefined));
    await update(endpoint!, { url: other.url });
    auth.clock.advance(10_000);
    await eventually(() => (other.requests.length === 1 ? true : undefined));
    other.answer = (response) => void response.writeHead(503).end();
    await publish();
    await eventually(async () => ((await log())[0]!.lastResult === 'status 503' ? true : undefined));
    await auth.webhooks.deleteWebhookEndpoint({ accountId: account.id, endpointId: endpoint!.id }, operator);
    expect((await log())[0]).toMatchObject({ state: NotificationState.NOTIFICATION_STATE_WITHDRAWN });
    expect((await log()).slice(2)).toEqual(past);
    expect(await endpoints()).toEqual([]);
  });

  it('are changed only in the fields of the mask, whatever the other fields of the request', async () => {
    const { endpoint } = await create();
    await update(endpoint!, { enabled: false });
    const change = (fields: Partial<WebhookEndpoint>, updateMask: string[], isEnabled = true) =>
      auth.webhooks.updateWebhookEndpoint(
        { ...endpoint!, ...fields, accountId: account.id, endpointId: endpoint!.id, enabled: isEnabled, updateMask },
        operator,
      );
    await Promise.all([
      change({ url: other.url, language: 'zh' }, ['url']),
      change({ description: 'billing' }, ['description']),
      change({ eventTypes: ['funds.added'] }, ['event_types']),
    ]);
    const kept = { url: other.url, description: 'billing', eventTypes: ['funds.added'], language: 'en' };
    expect(await endpoints()).toMatchObject([{ ...kept, state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_DISABLED }]);
    await change({}, ['enabled']);
    expect(await endpoints()).toMatchObject([{ ...kept, state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED }]);
    other.answer = (response) => void response.writeHead(410).end();
    await publish('funds.added');
    const failedState = { state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_FAILED };
    await eventually(async () => ((await endpoints())[0]!.state === failedState.state ? true : undefined));
    expect((await change({ description: '' }, ['description'])).endpoint).toMatchObject(failedState);
    expect((await change({}, ['enabled'], false)).endpoint).toMatchObject(failedState);
    for (const mask of [[], ['state']]) {
      await expect(change({}, mask)).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'update_mask' } });
    }
    await expect(change({ url: 'ftp://elsewhere' }, ['url'])).rejects.toMatchObject({ details: { field: 'url' } });
  });

  it('count the failures of an endpoint from the change of its address on', async () => {
    receiver.answer = (response) => void response.writeHead(500).end();
    const { endpoint } = await create();
    await publish();
    await eventually(async () => ((await endpoints())[0]!.failingSinceMs > 0n ? true : undefined));
    await auth.db.knex('notification').delete();
    auth.clock.advance(failingMsMax);
    expect((await update(endpoint!, { url: other.url })).endpoint).toMatchObject({ failingSinceMs: 0n });
    other.answer = (response) => void response.writeHead(500).end();
    await publish();
    await eventually(async () => ((await endpoints())[0]!.failingSinceMs > 0n ? true : undefined));
    expect((await endpoints())[0]).toMatchObject({
      state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED,
      failingSinceMs: BigInt(auth.clock.nowMs()),
    });
  });

  it('are not disabled by the answer of a former address, and count failures at the present one only', async () => {
    const { endpoint } = await create();
    let inFlight: ServerResponse | undefined;
    receiver.answer = (response) => void (inFlight = response);
    await publish();
    await eventually(() => inFlight);
    await update(endpoint!, { url: other.url });
    inFlight!.writeHead(410).end();
    await settled(1);
    auth.clock.advance(1000);
    other.answer = (response) => void response.writeHead(500).end();
    await publish();
    await eventually(async () => ((await endpoints())[0]!.failingSinceMs > 0n ? true : undefined));
    expect((await endpoints())[0]).toMatchObject({
      state: WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED,
      failingSinceMs: BigInt(auth.clock.nowMs()),
    });
    expect(mailer.mails).toEqual([]);
  });

  it('follow no redirect, and connect to no private address without permission', async () => {
    const { endpoint } = await create();
    const test = async (): Promise<string> =>
      (await auth.webhooks.sendTestEvent({ accountId: account.id, endpointId: endpoint!.id, eventType: 'key.refused' }, operator)).delivery!
        .lastResult;
    receiver.answer = (response) => void response.writeHead(302, { location: receiver.url }).end();
    expect(await test()).toBe('status 302, a redirect, which is not followed');
    expect(receiver.requests).toHaveLength(1);
    // No setting allows the addresses of metadata services.
    await expect(create('http://169.254.169.254/latest')).rejects.toMatchObject({ details: { rule: 'refused_address' } });
    receiver.answer = (response) => void response.destroy();
    expect(await test()).toContain('could not connect');
    auth.config.privateWebhooks = false;
    expect(await test()).toContain('private or reserved');
    await expect(create('http://127.0.0.1/hook')).rejects.toMatchObject({ details: { field: 'url', rule: 'public_address' } });
  });

  it.each([
    ['url', { url: 'ftp://example.com' }],
    ['url', { url: 'https://user:password@example.com' }],
    ['url', { url: 'http://169.254.169.254/latest' }],
    ['url', { url: `https://example.com/${'x'.repeat(2048)}` }],
    ['event_types', { eventTypes: [] }],
    ['event_types', { eventTypes: ['key.refused', 'key.refused'] }],
    ['event_types', { eventTypes: ['nothing'] }],
    ['description', { description: 'x'.repeat(201) }],
  ])('reject an invalid %s', async (field, fields) => {
    const request = {
      accountId: account.id,
      url: 'https://example.com',
      description: '',
      eventTypes: ['key.refused'],
      language: '',
      ...fields,
    };
    await expect(auth.webhooks.createWebhookEndpoint(request, operator)).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field },
    });
  });

  it('are limited in number', async () => {
    for (let count = 0; count < endpointsMax; count += 1) await create();
    await expect(create()).rejects.toMatchObject({ reason: 'failed_precondition' });
  });
});
