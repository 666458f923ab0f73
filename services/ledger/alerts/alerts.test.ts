// Low-balance alerts over a real database and real webhooks: fired once, rearmed after a clear rise, retried with backoff, and logged.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { MailFailure } from '#kit/mail/mailer.js';
import { type AlertDelivery, AlertDeliveryState, PutAlertRequest, type PutAlertResponse } from '#proto/ledger/v1/alerts.js';
import { type Customer, depositRequest, fundedCustomer, holdRequest, refusalOf, settleRequest } from '../testing/requests.js';
import { hourMs, messagesPerHourMax } from './model.js';
import { isSigned } from './signature.js';
import { type Receiver, startReceiver, startTestAlerts, type TestAlerts } from './testing/alerts.js';

const usd = 1_000_000_000n;
const {
  ALERT_DELIVERY_STATE_PENDING: pending,
  ALERT_DELIVERY_STATE_DELIVERED: delivered,
  ALERT_DELIVERY_STATE_FAILED: failed,
  ALERT_DELIVERY_STATE_WITHDRAWN: withdrawn,
} = AlertDeliveryState;

describe.each(testEngines)('low-balance alerts on %s', (engine) => {
  let alerts: TestAlerts;
  let customer: Customer;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.stop());

  beforeEach(async () => {
    alerts = await startTestAlerts(engine);
    customer = await fundedCustomer(alerts.ledger.service, 20n * usd);
    receiver.received.length = 0;
    receiver.answer = (response) => void response.end('thanks');
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
  const deliveries = async (): Promise<AlertDelivery[]> =>
    (await alerts.service.listAlertDeliveries({ accountId: customer.accountId, pageSize: 0, pageToken: '' })).deliveries;
  const spend = async (amountNanoUsd: bigint): Promise<void> => {
    const { hold } = await alerts.ledger.service.hold(holdRequest(customer, amountNanoUsd));
    await alerts.ledger.service.settle(settleRequest(customer, hold!.id, amountNanoUsd));
  };
  const look = async (): Promise<void> => {
    await alerts.watcher.look();
    await alerts.send();
  };

  it('are off and have no recipients until they are set', async () => {
    expect(await get()).toMatchObject({
      alert: { enabled: false, thresholdNanoUsd: 0n, emails: [], webhookUrl: '' },
      low: false,
      availableNanoUsd: 20n * usd,
      settledNanoUsd: 20n * usd,
      mailConfigured: true,
    });
    await spend(20n * usd);
    await look();
    expect(await deliveries()).toEqual([]);
  });

  it('report the remaining balance by mail and by a signed request, once', async () => {
    const { webhookSecret } = await put({ webhookUrl: receiver.url, emails: ['ada@example.com', 'bob@example.com', 'ada@example.com'] });
    await look();
    expect(await deliveries()).toEqual([]);
    await spend(11n * usd);
    expect(await get()).toMatchObject({ low: true, rearmAtNanoUsd: 12n * usd });
    for (let turn = 0; turn < 3; turn += 1) await look();
    expect(alerts.mails.map(({ to }) => to).sort()).toEqual(['ada@example.com', 'bob@example.com']);
    const [mail] = alerts.mails;
    expect(mail!.subject).toBe('Low balance: $9 left');
    expect(mail!.text).toContain('below your threshold of $10');
    expect(mail!.text).toContain('https://console.example.com/console/');
    expect(receiver.received).toHaveLength(1);
    const [{ body, headers, path }] = receiver.received as [(typeof receiver.received)[0]];
    const log = await deliveries();
    expect(path).toBe('/hook?of=us');
    expect(JSON.parse(body)).toEqual({
      type: 'balance.low',
      account_id: customer.accountId,
      threshold_usd: '10',
      settled_usd: '9',
      available_usd: '9',
      at: new Date(alerts.ledger.clock.nowMs()).toISOString(),
      id: log[0]!.eventId,
    });
    expect(isSigned(String(headers['tollgate-signature']), body, webhookSecret, alerts.ledger.clock.nowMs())).toBe(true);
    expect(isSigned(String(headers['tollgate-signature']), body, `${webhookSecret}x`, alerts.ledger.clock.nowMs())).toBe(false);
    expect(log.map(({ state, attempts, lastResult: outcome }) => [state, attempts, outcome]).sort()).toEqual([
      [delivered, 1, '250 taken'],
      [delivered, 1, '250 taken'],
      [delivered, 1, 'status 200: thanks'],
    ]);
  });

  it('are not fired by money that calls only hold, but report it', async () => {
    await put({ webhookUrl: receiver.url });
    const { hold } = await alerts.ledger.service.hold(holdRequest(customer, 11n * usd));
    await look();
    expect(await get()).toMatchObject({ low: false, settledNanoUsd: 20n * usd, availableNanoUsd: 9n * usd });
    expect(await deliveries()).toEqual([]);
    await alerts.ledger.service.hold(holdRequest(customer, 2n * usd));
    await alerts.ledger.service.settle(settleRequest(customer, hold!.id, 11n * usd));
    await look();
    expect(alerts.mails[0]!.text).toContain('has $9 left (of which calls in flight hold $2)');
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ settled_usd: '9', available_usd: '7' });
  });

  it('fire again only after a clear rise', async () => {
    await put();
    await spend(11n * usd);
    await look();
    await alerts.ledger.service.deposit(depositRequest(customer, (5n * usd) / 2n));
    await look();
    expect(await get()).toMatchObject({ low: false, alert: { fired: true } });
    await spend(2n * usd);
    await look();
    expect(alerts.mails).toHaveLength(1);
    await alerts.ledger.service.deposit(depositRequest(customer, 3n * usd));
    await look();
    expect((await get()).alert).toMatchObject({ fired: false });
    await spend(4n * usd);
    await look();
    expect(alerts.mails).toHaveLength(2);
    expect(new Set((await deliveries()).map(({ eventId }) => eventId)).size).toBe(2);
  });

  it('are rearmed by a new threshold and by being enabled, and by no other change', async () => {
    await put();
    await spend(11n * usd);
    await look();
    await put({ emails: ['bob@example.com'] });
    await look();
    expect(alerts.mails).toHaveLength(1);
    await put({ thresholdNanoUsd: 15n * usd });
    await look();
    expect(alerts.mails).toHaveLength(2);
    await put({ thresholdNanoUsd: 15n * usd, enabled: false });
    await look();
    await put({ thresholdNanoUsd: 15n * usd });
    await look();
    expect(alerts.mails).toHaveLength(3);
  });

  it('fire and are sent once, however many processes check', async () => {
    const others = [await alerts.replica(), await alerts.replica()];
    await put({ webhookUrl: receiver.url });
    await spend(11n * usd);
    const all = [alerts, ...others];
    for (let turn = 0; turn < 3; turn += 1) {
      await Promise.all(all.map(({ watcher }) => watcher.look()));
      await Promise.all(all.map(({ send }) => send()));
    }
    expect(alerts.mails).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
    expect(await deliveries()).toHaveLength(2);
  });

  it('are retried with growing delays, then given up, with the response of the receiver', async () => {
    await put({ webhookUrl: receiver.url, emails: [] });
    receiver.answer = (response) => void response.writeHead(503).end('not \u0007now\n');
    await spend(11n * usd);
    await look();
    const waits: number[] = [];
    for (let attempt = 1; attempt < 6; attempt += 1) {
      const [delivery] = await deliveries();
      expect(delivery).toMatchObject({ state: pending, attempts: attempt, lastResult: 'status 503: not now', endedAtMs: 0n });
      const waitMs = Number(delivery!.nextAttemptAtMs) - alerts.ledger.clock.nowMs();
      waits.push(waitMs);
      alerts.ledger.clock.advance(waitMs - 1);
      await look();
      expect(receiver.received).toHaveLength(attempt);
      alerts.ledger.clock.advance(1);
      await look();
    }
    expect(waits).toEqual([10_000, 40_000, 160_000, 640_000, 2_560_000]);
    expect(await deliveries()).toMatchObject([{ state: failed, attempts: 6, nextAttemptAtMs: 0n }]);
    expect(new Set(receiver.received.map(({ headers }) => headers['tollgate-delivery'])).size).toBe(1);
  });

  it('are not retried after a permanent failure', async () => {
    await put({ webhookUrl: receiver.url });
    alerts.mailFailures.push(new MailFailure('550 no such mailbox', true));
    receiver.answer = (response) => void response.writeHead(410).end();
    await spend(11n * usd);
    await look();
    expect((await deliveries()).map(({ state, lastResult: outcome }) => [state, outcome]).sort()).toEqual([
      [failed, '550 no such mailbox'],
      [failed, 'status 410'],
    ]);
  });

  it('survive a process that dies during an attempt', async () => {
    await put();
    await spend(11n * usd);
    await alerts.watcher.look();
    const [due] = await alerts.deps.deliveries.due(alerts.ledger.clock.nowMs(), 1);
    await alerts.deps.deliveries.claim(due!, alerts.ledger.clock.nowMs() + 50_000);
    expect(await alerts.deps.deliveries.claim(due!, alerts.ledger.clock.nowMs() + 50_000)).toBeUndefined();
    await alerts.send();
    expect(alerts.mails).toEqual([]);
    alerts.ledger.clock.advance(50_000);
    await alerts.send();
    expect(alerts.mails).toHaveLength(1);
  });

  it('are not sent to a destination that was removed', async () => {
    await put({ webhookUrl: receiver.url });
    await spend(11n * usd);
    await alerts.watcher.look();
    await put({ emails: ['bob@example.com'], webhookUrl: '' });
    await alerts.send();
    expect(alerts.mails).toEqual([]);
    expect(receiver.received).toEqual([]);
    expect((await deliveries()).map(({ state }) => state)).toEqual([withdrawn, withdrawn]);
  });

  it('follow no redirect, limit how much of a response they read, and connect to no private address without permission', async () => {
    await put({ webhookUrl: receiver.url, emails: [] });
    const test = async (): Promise<string> => (await alerts.service.testAlert({ accountId: customer.accountId })).deliveries[0]!.lastResult;
    receiver.answer = (response) => void response.writeHead(302, { location: receiver.url }).end();
    expect(await test()).toBe('status 302, a redirect, which is not followed');
    expect(receiver.received).toHaveLength(1);
    receiver.answer = (response) => void response.writeHead(200).end('x'.repeat(10_000_000));
    expect((await test()).length).toBeLessThan(300);
    receiver.answer = (response) => void response.destroy();
    expect(await test()).toContain('not reached');
    Object.assign(alerts.deps.config, { alertPrivateWebhooks: false });
    expect(await test()).toContain('not connected to');
    expect(await refusalOf(put({ webhookUrl: 'http://127.0.0.1/hook' }))).toMatchObject({
      reason: 'invalid_request',
      details: { field: 'webhook_url' },
    });
    await put({ webhookUrl: 'http://localhost:1/hook', emails: [] });
    expect(await test()).toContain('private or reserved');
  });

  it('are tested at once, also while they are off, and the result is in the log', async () => {
    expect(await refusalOf(alerts.service.testAlert({ accountId: customer.accountId }))).toMatchObject({ reason: 'failed_precondition' });
    await put({ enabled: false, webhookUrl: receiver.url });
    alerts.mailFailures.push(new MailFailure('454 not now', false));
    const { deliveries: tested } = await alerts.service.testAlert({ accountId: customer.accountId });
    expect(tested.map(({ test, state, lastResult: outcome }) => [test, state, outcome])).toEqual([
      [true, failed, '454 not now'],
      [true, delivered, 'status 200: thanks'],
    ]);
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ type: 'balance.low.test', available_usd: '20' });
    expect((await deliveries()).map(({ id }) => id).sort()).toEqual(tested.map(({ id }) => id).sort());
    alerts.ledger.clock.advance(hourMs);
    await look();
    expect(receiver.received).toHaveLength(1);
  });

  it('limit the messages sent within an hour', async () => {
    await put({ emails: Array.from({ length: 10 }, (_, index) => `p${index}@example.com`) });
    for (let test = 0; test < messagesPerHourMax / 10; test += 1) await alerts.service.testAlert({ accountId: customer.accountId });
    expect(await refusalOf(alerts.service.testAlert({ accountId: customer.accountId }))).toMatchObject({ reason: 'overloaded' });
    await spend(11n * usd);
    await look();
    expect(alerts.mails).toHaveLength(messagesPerHourMax);
    alerts.ledger.clock.advance(hourMs + 1);
    await look();
    expect(alerts.mails).toHaveLength(messagesPerHourMax + 10);
  });

  it('return the secret of a webhook once, keep it sealed, and never log it', async () => {
    const first = (await put({ webhookUrl: receiver.url })).webhookSecret;
    expect(first).toMatch(/^whsec_[\w-]{43}$/);
    expect((await put({ webhookUrl: receiver.url, thresholdNanoUsd: usd })).webhookSecret).toBe('');
    const second = (await put({ webhookUrl: receiver.url, rotateWebhookSecret: true })).webhookSecret;
    expect(second).not.toBe(first);
    await alerts.service.testAlert({ accountId: customer.accountId });
    const [{ body, headers }] = receiver.received as [(typeof receiver.received)[0]];
    expect(
      [first, second].map((secret) => isSigned(String(headers['tollgate-signature']), body, secret, alerts.ledger.clock.nowMs())),
    ).toEqual([false, true]);
    await put();
    const third = (await put({ webhookUrl: receiver.url })).webhookSecret;
    expect(third).not.toBe('');
    const rows: Record<string, unknown>[] = await alerts.ledger.db.knex('alert').select();
    const kept =
      JSON.stringify(rows, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) +
      alerts.ledger.logLines.join('\n');
    for (const secret of [first, second, third]) expect(kept).not.toContain(secret);
  });

  it.each([
    ['threshold_nano_usd', { thresholdNanoUsd: 0n }],
    ['emails', { emails: ['nobody'] }],
    ['emails', { emails: ['a@example.com, b@example.com'] }],
    ['emails', { emails: ['a@example.com\nBcc: b@example.com'] }],
    ['emails', { emails: ['Ada <a@example.com>'] }],
    ['emails', { emails: Array.from({ length: 11 }, (_, index) => `p${index}@example.com`) }],
    ['webhook_url', { webhookUrl: 'ftp://example.com' }],
    ['webhook_url', { webhookUrl: 'https://user:password@example.com' }],
    ['webhook_url', { webhookUrl: 'http://169.254.169.254/latest' }],
    ['webhook_url', { webhookUrl: `https://example.com/${'x'.repeat(2048)}` }],
    ['rotate_webhook_secret', { rotateWebhookSecret: true }],
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

  it('list what was sent by pages, and delete it after three months', async () => {
    await put();
    for (let test = 0; test < 5; test += 1) {
      await alerts.service.testAlert({ accountId: customer.accountId });
      alerts.ledger.clock.advance(1);
    }
    const all = await deliveries();
    const paged: AlertDelivery[] = [];
    let pageToken = '';
    do {
      const page = await alerts.service.listAlertDeliveries({ accountId: customer.accountId, pageSize: 2, pageToken });
      paged.push(...page.deliveries);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(paged).toEqual(all);
    expect(all).toHaveLength(5);
    alerts.ledger.clock.advance(90 * 24 * hourMs);
    await alerts.deliveryWorker.removeOld();
    expect(await deliveries()).toEqual([]);
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
