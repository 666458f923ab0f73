// Alerts of a running system: calls spend, the balance falls or a budget is spent to a share, and a mail and a signed request arrive, once.
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, settled } from '../support/calls.js';
import { addUser, Browser } from '../support/console.js';
import { eventually } from '../support/process.js';
import { killOne, pidsOf } from '../support/processes.js';
import { type HttpReceiver, type MailServer, startHttpReceiver, startMailServer } from '../support/receivers.js';
import { modes, startSystem, type System } from '../support/system.js';

const password = 'correct horse battery';

interface DeliveryView {
  id: string;
  event_id: string;
  test: boolean;
  channel: string;
  destination: string;
  state: string;
  attempts: number;
  outcome: string;
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
  let billing: Browser;

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
        await addUser(system, 'owner@example.com', password);
        await system.cli('member', 'put', 'owner@example.com', '--role', 'owner', '--account', accountId);
      }
      await system.cli('member', 'put', `${role}@example.com`, '--role', role, '--account', accountId);
    }
    billing = await browserOf('billing');
  });

  afterAll(async () => {
    await system?.stop();
    await mail?.stop();
    await hook?.stop();
  });

  async function browserOf(name: string): Promise<Browser> {
    const browser = new Browser(system);
    await browser.signIn(`${name}@example.com`, password);
    return browser;
  }

  const put = (fields: object) =>
    billing.must<{ alert: Record<string, unknown>; webhook_secret: string | null }>(
      'PUT',
      `${account}/alerts`,
      { enabled: true, threshold_usd: '4.999', emails: ['ops@example.com'], ...fields },
      200,
    );
  const deliveries = async (): Promise<DeliveryView[]> =>
    (await billing.get<{ data: DeliveryView[] }>(`${account}/alerts/deliveries`)).data;
  const balance = (): Promise<BalanceView> => billing.get<BalanceView>(`${account}/balance`);

  it('are off at first, and set by those who may change money', async () => {
    expect(await billing.get(`${account}/alerts`)).toMatchObject({
      enabled: false,
      threshold_usd: null,
      emails: [],
      webhook_url: null,
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
    expect(await refused({ enabled: true, threshold_usd: '1', webhook_url: 'http://169.254.169.254/' })).toEqual([400, 'webhook_url']);
  });

  it('arrive once by mail and as a signed request, when calls have spent enough', async () => {
    const { webhook_secret: signing } = await put({ webhook_url: `${hook.url}/low` });
    expect(signing).toMatch(/^whsec_/);
    expect(await balance()).toMatchObject({ low: false, threshold_usd: '4.999', available_usd: '5' });
    while (!(await balance()).low) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => chat(system, secret)));
      for (const answer of answers) expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
    }
    await settled(system, accountId);
    await eventually(async () => ((await deliveries()).filter(({ state }) => state === 'delivered').length === 2 ? true : undefined));
    const { settled_usd } = await balance();
    expect(Number(settled_usd)).toBeLessThan(4.999);

    expect(mail.mails).toHaveLength(1);
    const [{ to, raw }] = mail.mails as [(typeof mail.mails)[0]];
    expect(to).toEqual(['ops@example.com']);
    expect(raw).toContain('From: Tollgate <billing@example.com>');
    expect(raw).toContain('Subject: Low balance');
    expect(raw.replaceAll('=\r\n', '')).toContain(`https://models.example.com/tollgate/console/accounts/${accountId}/billing`);

    expect(hook.requests).toHaveLength(1);
    const [{ body, headers, method, path }] = hook.requests as [(typeof hook.requests)[0]];
    expect([method, path]).toEqual(['POST', '/low']);
    const event = JSON.parse(body) as { id: string };
    expect(event).toMatchObject({ type: 'balance.low', account_id: accountId, threshold_usd: '4.999' });
    // As anybody verifies it who has read the docs.
    const [, time, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['tollgate-signature']))!;
    expect(createHmac('sha256', signing!).update(`${time}.${body}`).digest('hex')).toBe(digest);
    expect(Math.abs(Date.now() / 1000 - Number(time))).toBeLessThan(60);

    const log = await deliveries();
    expect(log.map(({ channel, outcome, event_id }) => [channel, outcome, event_id]).sort()).toEqual([
      ['mail', expect.stringContaining('queued as 7'), event.id],
      ['webhook', 'status 200: thanks', event.id],
    ]);
    // Of many webhooks the path is all that keeps others from posting there, so it is for those alone who may set it.
    const viewer = await browserOf('viewer');
    expect(await viewer.get(`${account}/alerts`)).toMatchObject({ webhook_url: `${hook.url}/…` });
    const seen = (await viewer.get<{ data: { channel: string; destination: string }[] }>(`${account}/alerts/deliveries`)).data;
    expect(seen.map(({ channel, destination }) => [channel, destination]).sort()).toEqual([
      ['mail', 'ops@example.com'],
      ['webhook', `${hook.url}/…`],
    ]);
    for (let call = 0; call < 3; call += 1) await (await chat(system, secret)).text();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([mail.mails.length, hook.requests.length]).toEqual([1, 1]);
  });

  it('are armed again by a clear rise alone', async () => {
    expect(await billing.get(`${account}/alerts`)).toMatchObject({ fired: true, rearm_at_usd: '5.9988' });
    await system.cli('balance', 'deposit', '0.9', '--account', accountId);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await billing.get(`${account}/alerts`)).toMatchObject({ fired: true, low: false });
    await system.cli('balance', 'deposit', '1', '--account', accountId);
    await eventually(async () => ((await billing.get<{ fired: boolean }>(`${account}/alerts`)).fired ? undefined : true));
    await system.cli('balance', 'adjust', '-3', '--account', accountId, '--reason', 'a test');
    await eventually(() => (mail.mails.length === 2 && hook.requests.length === 2 ? true : undefined));
  });

  it('are tried again until the peer takes them, and show its words', async () => {
    hook.answer = (_request, response) => void response.writeHead(500).end('out of order');
    mail.refused.set('ops@example.com', { code: 550, words: 'no such mailbox' });
    const before = hook.requests.length;
    await put({ threshold_usd: '4', webhook_url: `${hook.url}/low` });
    await eventually(() => (hook.requests.length >= before + 3 ? true : undefined));
    const [first] = (await deliveries()).filter(({ channel, state }) => channel === 'webhook' && state === 'pending');
    expect(first).toMatchObject({ outcome: 'status 500: out of order' });
    hook.answer = (_request, response) => void response.end('fine');
    await eventually(async () => ((await deliveries()).find(({ id }) => id === first!.id)?.state === 'delivered' ? true : undefined));
    expect((await deliveries()).find(({ channel, event_id }) => channel === 'mail' && event_id === first!.event_id)).toMatchObject({
      state: 'failed',
      attempts: 1,
      outcome: expect.stringContaining('no such mailbox'),
    });
  });

  it('are tested at once, from the console and by the command', async () => {
    const { data } = await billing.must<{ data: DeliveryView[] }>('POST', `${account}/alerts/test`, undefined, 200);
    expect(data.map(({ channel, test, state }) => [channel, test, state])).toEqual([
      ['mail', true, 'failed'],
      ['webhook', true, 'delivered'],
    ]);
    expect(JSON.parse(hook.requests.at(-1)!.body)).toMatchObject({ type: 'balance.low.test' });
    const failing = await system.tryCli('alert', 'test', '--account', accountId);
    expect([failing.code, failing.stdout]).toEqual([1, expect.stringContaining('no such mailbox')]);
    mail.refused.clear();
    expect(await system.cli('alert', 'test', '--account', accountId)).toContain('delivered');
    const lines = (await system.cli('alert', 'deliveries', '--account', accountId, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as DeliveryView);
    expect(lines.map(({ id }) => id)).toEqual((await deliveries()).map(({ id }) => id));
  });

  it('are set and shown by the command as in the console', async () => {
    const set = await system.json<{ webhook_secret: string }>(
      'alert',
      'set',
      '2.5',
      '--email',
      'a@example.com',
      '--email',
      'b@example.com',
      '--webhook',
      `${hook.url}/low`,
      '--new-secret',
      '--account',
      accountId,
    );
    expect(set.webhook_secret).toMatch(/^whsec_/);
    const got = await system.json('alert', 'get', '--account', accountId);
    expect(got).toMatchObject({
      enabled: true,
      threshold_usd: '2.5',
      emails: ['a@example.com', 'b@example.com'],
      webhook_url: `${hook.url}/low`,
    });
    expect(JSON.stringify(got)).not.toContain('whsec_');
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
      expect(events.map(({ action }) => action)).toEqual(expect.arrayContaining(['alert.put', 'alert.test']));
      return events;
    });
    expect(JSON.stringify(data)).not.toContain('whsec_');
  });

  it('arrive once for a budget that is spent to a share, although the low-balance alert is off', async () => {
    const { webhook_secret: signing } = await put({ enabled: false, webhook_url: `${hook.url}/budgets`, rotate_webhook_secret: true });
    const options = ['--account', accountId, '--budget', 'month:0.0002', '--alert-at', '50,80'];
    const { id: project } = await system.json<{ id: string }>('project', 'create', 'Alerted', ...options);
    const ofProject = await system.json<{ secret: string }>('key', 'create', '--name', 'p', '--account', accountId, '--project', project);
    const budgetEvents = () =>
      hook.requests.filter(({ path }) => path === '/budgets').map((each) => ({ ...each, event: JSON.parse(each.body) as object }));
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
    const [{ event, body, headers }] = budgetEvents() as [ReturnType<typeof budgetEvents>[number]];
    expect(event).toMatchObject({ type: 'budget.reached', scope: 'project', scope_id: project, period: 'month', percent: 50, soft: false });
    const [, time, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['tollgate-signature']))!;
    expect(createHmac('sha256', signing!).update(`${time}.${body}`).digest('hex')).toBe(digest);
    await eventually(() => (mails().length > 0 ? true : undefined));
    expect(mails()[0]!.raw).toContain('Subject: 50% of a monthly budget spent');
    for (let status = 200; status === 200; status = await spend());
    expect(await spend()).toBe(402);
    await eventually(() => (budgetEvents().length === 2 && mails().length === 2 ? true : undefined));
    expect(budgetEvents().map((each) => each.event)).toMatchObject([{ percent: 50 }, { percent: 80 }]);
  });

  it('are delivered under one id although everything was killed before the receiver accepted them', async () => {
    hook.answer = (_request, response) => void response.writeHead(503).end();
    const before = hook.requests.length;
    await put({ threshold_usd: '1000', webhook_url: `${hook.url}/low` });
    await eventually(() => (hook.requests.length > before ? true : undefined));
    await system.kill();
    const killed = hook.requests.length;
    hook.answer = (_request, response) => void response.end('fine');
    await system.start();
    await eventually(() => (hook.requests.length > killed ? true : undefined));
    expect(new Set(hook.requests.slice(before).map(({ headers }) => headers['tollgate-delivery'])).size).toBe(1);
    await eventually(async () => {
      const [newest] = (await deliveries()).filter(({ channel }) => channel === 'webhook');
      return newest?.state === 'delivered' ? true : undefined;
    });
  });

  if (mode === 'distributed') {
    it('are delivered once although the ledger was killed while auth could not receive them', async () => {
      await put({ threshold_usd: '1', webhook_url: `${hook.url}/low` });
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
      const eventId = (JSON.parse(hook.requests.at(-1)!.body) as { id: string }).id;
      const sent = await eventually(async () => {
        const ofEvent = (await deliveries()).filter(({ event_id }) => event_id === eventId);
        return ofEvent.every(({ state }) => state === 'delivered') ? ofEvent : undefined;
      });
      // Whatever the ledger ships again reaches auth before the next alert.
      await eventually(() => put({ threshold_usd: '2', webhook_url: `${hook.url}/low` }));
      await eventually(() => ((JSON.parse(hook.requests.at(-1)!.body) as { id: string }).id === eventId ? undefined : true));
      const ids = Object.fromEntries(sent.map(({ channel, id }) => [channel, id]));
      expect(Object.keys(ids).toSorted()).toEqual(['mail', 'webhook']);
      expect(hook.requests.filter(({ headers }) => headers['tollgate-delivery'] === ids['webhook'])).toHaveLength(1);
      expect(mail.mails.filter(({ raw }) => raw.includes(`<${ids['mail']}@tollgate>`))).toHaveLength(1);
    });
  }

  const firedSoFar = (): number =>
    readFileSync(join(system.dataDir, 'logs', 'ledger.log'), 'utf8').split('a low-balance alert fired').length;
});
