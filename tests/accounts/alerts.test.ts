// Alerts and webhooks of a running system: when calls lower the balance or spend a share of a budget, one mail and one signed request arrive.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { chat, settled } from '../support/clients/calls.js';
import { addMember, addUser, type Browser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { killOne, pidsOf } from '../support/systems/processes.js';
import { type HttpReceiver, type MailServer, startHttpReceiver, startMailServer } from '../support/vendors/receivers.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface DeliveryView {
  id: string;
  event_id: string;
  test: boolean;
  destination: string;
  state: string;
  attempts: number;
  outcome: string;
}

interface WebhookDeliveryView {
  id: string;
  event_id: string;
  event_type: string;
  test: boolean;
  url: string;
  state: string;
  attempts: number;
  outcome: string;
}

interface EndpointView {
  id: string;
  url: string;
  state: string;
}

interface BalanceView {
  settled_usd: string;
  available_usd: string;
  low: boolean;
  threshold_usd: string | null;
}

describe.each(modes)('alerts, %s', (mode) => {
  let system: System;
  let mail: MailServer;
  let hook: HttpReceiver;
  let accountId: string;
  let account: string;
  let secret: string;
  let signing: string;
  let endpoint: EndpointView;
  let billing: Browser;
  let developer: Browser;

  beforeAll(async () => {
    mail = await startMailServer();
    hook = await startHttpReceiver();
    system = await startSystem(mode, {
      TOLLGATE_SMTP_URL: mail.url,
      TOLLGATE_SMTP_FROM: 'Tollgate <billing@example.com>',
      TOLLGATE_GATEWAY_PUBLIC_URL: 'https://models.example.com/tollgate/',
      TOLLGATE_LEDGER_ALERT_INTERVAL: '50ms',
      TOLLGATE_AUTH_NOTIFICATION_RETRY: '100ms',
      TOLLGATE_AUTH_NOTIFICATION_INTERVAL: '50ms',
      TOLLGATE_AUTH_PRIVATE_WEBHOOKS: 'true',
    });
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    account = `/accounts/${accountId}`;
    await system.cli('balance', 'deposit', '5', '--account', accountId);
    ({ secret } = await system.json<{ secret: string }>('key', 'create', '--name', 'server', '--account', accountId));
    for (const role of ['billing', 'developer', 'viewer']) {
      await addUser(system, `${role}@example.com`, password);
      if (role === 'billing') {
        await addMember(system, accountId, 'owner@example.com', 'owner');
      }
      await system.cli('member', 'put', `${role}@example.com`, '--role', role, '--account', accountId);
    }
    [billing, developer] = [await browserOf('billing'), await browserOf('developer')];
  });

  afterAll(async () => {
    await system?.stop();
    await mail?.stop();
    await hook?.stop();
  });

  const browserOf = (name: string): Promise<Browser> => signedIn(system, `${name}@example.com`);

  const put = (fields: object) =>
    billing.must<Record<string, unknown>>(
      'PUT',
      `${account}/alerts`,
      { enabled: true, threshold_usd: '4.999', emails: ['ops@example.com'], ...fields },
      200,
    );
  const deliveries = async (): Promise<DeliveryView[]> =>
    (await billing.get<{ data: DeliveryView[] }>(`${account}/alerts/deliveries`)).data;
  const sent = async (): Promise<WebhookDeliveryView[]> =>
    (await developer.get<{ data: WebhookDeliveryView[] }>(`${account}/webhook-deliveries`)).data;
  /** Verifies a request with the library of a vendor that follows the same specification. */
  const verified = ({ body, headers }: HttpReceiver['requests'][number]): Promise<void> =>
    new OpenAI({ apiKey: 'unused' }).webhooks.verifySignature(body, headers as Record<string, string>, signing);
  const eventOf = (request: HttpReceiver['requests'][number] | undefined) =>
    JSON.parse(request!.body) as { id: string; type: string; test?: boolean; data: Record<string, unknown> };
  const balance = (): Promise<BalanceView> => billing.get<BalanceView>(`${account}/balance`);

  it('are off by default, and can be set by roles that may change money', async () => {
    expect(await billing.get(`${account}/alerts`)).toMatchObject({
      enabled: false,
      threshold_usd: null,
      emails: [],
      low: false,
      mail_configured: true,
    });
    expect(await balance()).toMatchObject({ low: false, threshold_usd: null });
    const statuses = async (name: string) => {
      const browser = await browserOf(name);
      const send = async (method: string, path: string, body?: object) => (await browser.ask(method, `${account}${path}`, body)).status;
      return [
        await send('GET', '/alerts'),
        await send('PUT', '/alerts', { enabled: false, threshold_usd: '1' }),
        await send('POST', '/alerts/test'),
      ];
    };
    expect(await statuses('developer')).toEqual([200, 403, 403]);
    expect(await statuses('viewer')).toEqual([200, 403, 403]);
    expect(await statuses('billing')).toEqual([200, 200, 409]);
    const refused = async (body: object) => {
      const response = await billing.ask('PUT', `${account}/alerts`, body);
      return [response.status, ((await response.json()) as { error: { field: string } }).error.field];
    };
    expect(await refused({ enabled: true, threshold_usd: '0' })).toEqual([400, 'threshold_usd']);
    expect(await refused({ enabled: true, threshold_usd: '1', emails: ['nobody'] })).toEqual([400, 'emails']);
  });

  it('have endpoints that developers manage, and whose complete address only developers see', async () => {
    const types = ['balance.low', 'budget.reached', 'key.refused'];
    const body = { url: `${hook.url}/low`, event_types: types };
    const made = await developer.must<{ endpoint: EndpointView; secret: string }>('POST', `${account}/webhooks`, body, 201);
    [signing, endpoint] = [made.secret, made.endpoint];
    expect(signing).toMatch(/^whsec_/);
    expect(await developer.get(`${account}/webhooks`)).toMatchObject({
      data: [{ id: endpoint.id, url: `${hook.url}/low`, event_types: types }],
    });
    const viewer = await browserOf('viewer');
    expect(await viewer.get(`${account}/webhooks`)).toMatchObject({ data: [{ url: `${hook.url}/…` }] });
    for (const browser of [viewer, billing]) expect((await browser.ask('POST', `${account}/webhooks`, body)).status).toBe(403);
    const metadata = await developer.ask('POST', `${account}/webhooks`, { ...body, url: 'http://169.254.169.254/' });
    expect([metadata.status, ((await metadata.json()) as { error: { field: string } }).error.field]).toEqual([400, 'url']);
  });

  it('arrive once, by mail and as a signed request, when the balance falls below the threshold', async () => {
    await put({});
    expect(await balance()).toMatchObject({ low: false, threshold_usd: '4.999', available_usd: '5' });
    while (!(await balance()).low) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => chat(system, secret)));
      for (const answer of answers) expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
    }
    await settled(system, accountId);
    await eventually(async () =>
      [...(await deliveries()), ...(await sent())].filter(({ state }) => state === 'delivered').length === 2 ? true : undefined,
    );
    const { settled_usd } = await balance();
    expect(Number(settled_usd)).toBeLessThan(4.999);

    expect(mail.mails).toHaveLength(1);
    const [{ to, raw }] = mail.mails as [(typeof mail.mails)[0]];
    expect(to).toEqual(['ops@example.com']);
    expect(raw).toContain('From: Tollgate <billing@example.com>');
    expect(raw).toContain('Subject: Low balance');
    expect(raw.replaceAll('=\r\n', '')).toContain(`https://models.example.com/tollgate/console/accounts/${accountId}/billing`);

    expect(hook.requests).toHaveLength(1);
    const [request] = hook.requests as [(typeof hook.requests)[0]];
    expect([request.method, request.path]).toEqual(['POST', '/low']);
    await verified(request);
    const event = eventOf(request);
    expect(event).toMatchObject({ type: 'balance.low', account_id: accountId, data: { threshold_usd: '4.999' } });
    expect((await deliveries()).map(({ outcome, event_id }) => [outcome, event_id])).toEqual([
      [expect.stringContaining('queued as 7'), event.id],
    ]);
    expect(await sent()).toMatchObject([
      { event_id: event.id, event_type: 'balance.low', state: 'delivered', outcome: 'status 200: thanks' },
    ]);
    for (let call = 0; call < 3; call += 1) await (await chat(system, secret)).text();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([mail.mails.length, hook.requests.length]).toEqual([1, 1]);
  });

  it('are armed again only after the balance has risen to the rearm amount', async () => {
    expect(await billing.get(`${account}/alerts`)).toMatchObject({ fired: true, rearm_at_usd: '5.9988' });
    await system.cli('balance', 'deposit', '0.9', '--account', accountId);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await billing.get(`${account}/alerts`)).toMatchObject({ fired: true, low: false });
    await system.cli('balance', 'deposit', '1', '--account', accountId);
    await eventually(async () => ((await billing.get<{ fired: boolean }>(`${account}/alerts`)).fired ? undefined : true));
    await system.cli('balance', 'adjust', '-3', '--account', accountId, '--reason', 'a test');
    await eventually(() => (mail.mails.length === 2 && hook.requests.length === 2 ? true : undefined));
  });

  it('are retried until the receiver accepts them, and show its response', async () => {
    hook.answer = (response) => void response.writeHead(500).end('out of order');
    mail.refused.set('ops@example.com', { code: 550, words: 'no such mailbox' });
    const before = hook.requests.length;
    await put({ threshold_usd: '4' });
    await eventually(() => (hook.requests.length >= before + 3 ? true : undefined));
    const first = await eventually(async () => (await sent()).find(({ state, attempts }) => state === 'pending' && attempts > 1));
    expect(first).toMatchObject({ outcome: 'status 500: out of order' });
    hook.answer = (response) => void response.end('fine');
    await eventually(async () => ((await sent()).find(({ id }) => id === first.id)?.state === 'delivered' ? true : undefined));
    expect((await deliveries()).find(({ event_id }) => event_id === first.event_id)).toMatchObject({
      state: 'failed',
      attempts: 1,
      outcome: expect.stringContaining('no such mailbox'),
    });
  });

  it('can be tested immediately, in the console and with the command', async () => {
    const { data } = await billing.must<{ data: DeliveryView[] }>('POST', `${account}/alerts/test`, undefined, 200);
    expect(data.map(({ test, state }) => [test, state])).toEqual([[true, 'failed']]);
    const failing = await system.tryCli('alert', 'test', '--account', accountId);
    expect([failing.code, failing.stdout]).toEqual([1, expect.stringContaining('no such mailbox')]);
    mail.refused.clear();
    expect(await system.cli('alert', 'test', '--account', accountId)).toContain('delivered');
    const lines = (await system.cli('alert', 'deliveries', '--account', accountId, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as DeliveryView);
    expect(lines.map(({ id }) => id)).toEqual((await deliveries()).map(({ id }) => id));
    const path = `${account}/webhooks/${endpoint.id}/test`;
    const tested = await developer.must<WebhookDeliveryView>('POST', path, { event_type: 'price.published' }, 200);
    expect(tested).toMatchObject({ test: true, state: 'delivered', outcome: 'status 200: fine' });
    await verified(hook.requests.at(-1)!);
    expect(eventOf(hook.requests.at(-1))).toMatchObject({ type: 'price.published', test: true });
    expect(await system.cli('webhook', 'resend', tested.id, '--account', accountId)).toContain('delivered');
    expect(eventOf(hook.requests.at(-1)).id).toBe(tested.event_id);
    expect(await system.cli('webhook', 'deliveries', endpoint.id, '--account', accountId)).toContain(tested.id);
  });

  it('report keys, funds and prices to an endpoint that receives them', async () => {
    const options = ['--event', 'key.created', 'key.revoked', 'funds.added', 'price.published', '--account', accountId];
    const { id } = await system.json<{ id: string; secret: string }>('webhook', 'create', `${hook.url}/changes`, ...options);
    const changes = () => hook.requests.filter((request) => request.path === '/changes').map(eventOf);
    const { id: key } = await system.json<{ id: string }>('key', 'create', '--name', 'short', '--account', accountId);
    await system.cli('key', 'revoke', key);
    await system.cli('balance', 'deposit', '0.25', '--account', accountId);
    await system.cli('price', 'publish', 'sandbox/echo', '--input', '0.11', '--output', '0.22', '--from', '2100-01-01T00:00:00Z');
    await eventually(() => (changes().length === 4 ? true : undefined));
    expect(changes().toSorted((a, b) => a.type.localeCompare(b.type))).toMatchObject([
      { type: 'funds.added', account_id: accountId, data: { amount_usd: '0.25', source: 'cash' } },
      { type: 'key.created', account_id: accountId, data: { key_id: key, name: 'short' } },
      { type: 'key.revoked', account_id: accountId, data: { key_id: key } },
      { type: 'price.published', account_id: null, data: { model: 'sandbox/echo', effective_from: '2100-01-01T00:00:00.000Z' } },
    ]);
    // A change concerns the given settings only, so an endpoint that was disabled meanwhile stays disabled.
    const change = (...words: string[]) => system.json<object>('webhook', 'update', id, ...words, '--account', accountId);
    expect(await change('--disable')).toMatchObject({ state: 'disabled', url: `${hook.url}/changes` });
    expect(await change('--url', `${hook.url}/other`)).toMatchObject({ state: 'disabled', url: `${hook.url}/other` });
    const patched = await developer.must('PATCH', `${account}/webhooks/${id}`, { description: 'For changes.' }, 200);
    expect(patched).toMatchObject({ state: 'disabled', url: `${hook.url}/other`, description: 'For changes.' });
    expect(await change('--enable')).toMatchObject({ state: 'enabled', description: 'For changes.' });
    expect((await system.tryCli('webhook', 'update', id, '--account', accountId)).code).toBe(2);
    await system.cli('webhook', 'delete', id, '--account', accountId);
    expect((await system.cli('webhook', 'list', '--account', accountId)).includes(id)).toBe(false);
  });

  it('can be set and shown with the command as in the console', async () => {
    const emails = ['--email', 'a@example.com', '--email', 'b@example.com'];
    expect(await system.json('alert', 'set', '2.5', ...emails, '--account', accountId)).toMatchObject({
      enabled: true,
      threshold_usd: '2.5',
      emails: ['a@example.com', 'b@example.com'],
    });
    expect(await billing.get(`${account}/alerts`)).toMatchObject({
      enabled: true,
      threshold_usd: '2.5',
      emails: ['a@example.com', 'b@example.com'],
    });
    await system.cli('alert', 'set', '2.5', '--off', '--account', accountId);
    expect(await balance()).toMatchObject({ low: false, threshold_usd: null });
    const owner = await browserOf('owner');
    const data = await eventually(async () => {
      const { data: events } = await owner.get<{ data: { action: string; actor: string }[] }>(`${account}/audit`);
      expect(events.map(({ action }) => action)).toEqual(
        expect.arrayContaining(['alert.put', 'alert.test', 'webhook.create', 'webhook.resend']),
      );
      return events;
    });
    expect(JSON.stringify(data)).not.toContain('whsec_');
  });

  it('arrive once when a share of a budget is spent, even if the low-balance alert is off', async () => {
    await put({ enabled: false });
    const settings = { url: `${hook.url}/budgets`, event_types: ['budget.reached'], enabled: true };
    await developer.must('PUT', `${account}/webhooks/${endpoint.id}`, settings, 200);
    const path = `${account}/webhooks/${endpoint.id}/secret`;
    ({ secret: signing } = await developer.must<{ secret: string }>('POST', path, { overlap_seconds: 0 }, 201));
    const options = ['--account', accountId, '--budget', 'month:0.0002', '--alert-at', '50,80'];
    const { id: project } = await system.json<{ id: string }>('project', 'create', 'Alerted', ...options);
    const ofProject = await system.json<{ secret: string }>('key', 'create', '--name', 'p', '--account', accountId, '--project', project);
    const budgetEvents = () => hook.requests.filter((each) => each.path === '/budgets').map((each) => ({ ...each, event: eventOf(each) }));
    const mails = () => mail.mails.filter(({ raw }) => raw.includes('of a monthly budget spent'));
    // Each call costs a twenty-fifth of the budget, and holds a tenth.
    const spend = async (): Promise<number> => {
      const answer = await chat(system, ofProject.secret, {
        model: 'sandbox/story',
        messages: [{ role: 'user', content: 'tokens=20' }],
        max_tokens: 30,
      });
      await answer.text();
      return answer.status;
    };
    await eventually(async () => ((await spend()) > 0 && budgetEvents().length > 0 ? true : undefined));
    const [first] = budgetEvents() as [ReturnType<typeof budgetEvents>[number]];
    const budget = { scope: 'project', scope_id: project, period: 'month', percent: 50, soft: false };
    expect(first.event).toMatchObject({ type: 'budget.reached', data: budget });
    await verified(first);
    await eventually(() => (mails().length > 0 ? true : undefined));
    expect(mails()[0]!.raw).toContain('Subject: 50% of a monthly budget spent');
    // Holds of calls that are not settled yet can refuse a call long before the budget is spent.
    await eventually(async () => ((await spend()) === 402 && budgetEvents().length === 2 ? true : undefined));
    await eventually(() => (mails().length === 2 ? true : undefined));
    expect(budgetEvents().map((each) => each.event.data)).toMatchObject([{ percent: 50 }, { percent: 80 }]);
  });

  it('are delivered with the same id after everything was killed before the receiver accepted them', async () => {
    hook.answer = (response) => void response.writeHead(503).end();
    const before = hook.requests.length;
    const settings = { url: `${hook.url}/low`, event_types: ['balance.low'], enabled: true };
    await developer.must('PUT', `${account}/webhooks/${endpoint.id}`, settings, 200);
    await put({ threshold_usd: '1000' });
    await eventually(() => (hook.requests.length > before ? true : undefined));
    await system.kill();
    const killed = hook.requests.length;
    hook.answer = (response) => void response.end('fine');
    await system.start();
    await eventually(() => (hook.requests.length > killed ? true : undefined));
    expect(new Set(hook.requests.slice(before).map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await eventually(async () => ((await sent())[0]?.state === 'delivered' ? true : undefined));
  });

  if (mode === 'distributed') {
    it('are delivered once after the ledger was killed while auth could not receive them', async () => {
      await put({ threshold_usd: '1' });
      const webhooks = hook.requests.length;
      const fired = firedSoFar();
      const { settled_usd: settled } = await balance();
      const { auth } = pidsOf(system);
      process.kill(auth, 'SIGSTOP');
      await system.cli('balance', 'adjust', `-${settled}`, '--account', accountId, '--reason', 'a test');
      await eventually(() => (firedSoFar() > fired ? true : undefined));
      const restarted = killOne(system, 'ledger');
      process.kill(auth, 'SIGCONT');
      await restarted();
      await eventually(() => (hook.requests.length > webhooks ? true : undefined));
      const eventId = eventOf(hook.requests.at(-1)).id;
      const [mailed] = await eventually(async () => {
        const ofEvent = (await deliveries()).filter(({ event_id }) => event_id === eventId);
        return ofEvent.length === 1 && ofEvent[0]!.state === 'delivered' ? ofEvent : undefined;
      });
      // Whatever the ledger ships again reaches auth before the next alert.
      await eventually(() => put({ threshold_usd: '2' }));
      await eventually(() => (eventOf(hook.requests.at(-1)).id === eventId ? undefined : true));
      expect(hook.requests.filter(({ headers }) => headers['webhook-id'] === eventId)).toHaveLength(1);
      expect(mail.mails.filter(({ raw }) => raw.includes(`<${mailed!.id}@tollgate>`))).toHaveLength(1);
    });
  }

  const firedSoFar = (): number =>
    readFileSync(join(system.dataDir, 'logs', 'ledger.log'), 'utf8').split('a low-balance alert fired').length;
});
