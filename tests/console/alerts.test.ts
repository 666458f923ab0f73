// Alerts, webhooks and payments in the browser: an alert is set, tested and shown in the banner; an endpoint is added, tested and its log shown; a payment
// goes to the provider's page and back.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { Browser } from 'playwright-core';
import {
  accessibilityFaults,
  expectSoon,
  newMember,
  newPerson,
  type Page,
  type Person,
  screenshot,
  settledPage,
  showTheme,
  sidewaysScroll,
  startChromium,
} from '../support/clients/chromium.js';
import { chat, createKey } from '../support/clients/calls.js';
import { addMember, password } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { type HttpReceiver, type MailServer, startHttpReceiver, startMailServer } from '../support/vendors/receivers.js';
import { startStripe, type StripeStub } from '../support/vendors/stripe.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

describe.each(browserModes)('alerts and payments in the console, %s', (mode) => {
  let system: System;
  let chromium: Browser;
  let mail: MailServer;
  let hook: HttpReceiver;
  let stripe: StripeStub;
  let accountId: string;
  let owner: Person;

  beforeAll(async () => {
    [mail, hook, stripe] = await Promise.all([startMailServer(), startHttpReceiver(), startStripe()]);
    system = await startSystem(mode, {
      TOLLGATE_SMTP_URL: mail.url,
      TOLLGATE_SMTP_FROM: 'billing@example.com',
      TOLLGATE_LEDGER_ALERT_INTERVAL: '50ms',
      TOLLGATE_AUTH_PRIVATE_WEBHOOKS: 'true',
      TOLLGATE_LEDGER_STRIPE_SECRET_KEY: stripe.secretKey,
      TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      TOLLGATE_LEDGER_STRIPE_API_BASE: stripe.url,
      TOLLGATE_LEDGER_PAYMENT_MAX_USD: '50',
    });
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    await system.cli('balance', 'deposit', '20', '--account', accountId);
    for (const role of ['owner', 'viewer']) {
      await addMember(system, accountId, `${role}@example.com`, role);
    }
    chromium = await startChromium();
    owner = await newMember(chromium, system, { email: 'owner@example.com', password });
  });

  afterAll(async () => {
    expect(owner?.faults ?? []).toEqual([]);
    await owner?.close();
    await chromium?.close();
    await system?.stop();
    await Promise.all([mail?.stop(), hook?.stop(), stripe?.stop()]);
  });

  const open = async (person = owner, search = ''): Promise<Page> => {
    const page = await person.open(`/accounts/${accountId}/billing${search}`);
    await settledPage(page);
    return page;
  };
  const available = async (): Promise<string> =>
    (await system.json<{ available_usd: string }>('balance', 'show', '--account', accountId)).available_usd;

  it('set up an alert, test it, and show what failed', async () => {
    const page = await open();
    await page.getByText('Not set').waitFor();
    await expectSoon(async () => expect(await page.getByLabel('Below this amount in USD').count()).toBe(0));
    await page.getByLabel('Notify when the balance is low').check();
    await page.getByLabel('Below this amount in USD').fill('0');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('must be above 0').waitFor();
    await page.getByLabel('Below this amount in USD').fill('10');
    await page.getByLabel('Email addresses').fill('ops@example.com\nnobody');
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('email addresses such as').waitFor();
    await page.getByLabel('Email addresses').fill('ops@example.com\nada@example.com');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Sends a notification below $10.00.').waitFor();
    expect(await system.json('alert', 'get', '--account', accountId)).toMatchObject({
      enabled: true,
      threshold_usd: '10',
      emails: ['ops@example.com', 'ada@example.com'],
    });

    // It can be turned off whatever was typed as the threshold.
    await page.getByLabel('Below this amount in USD').fill('ten');
    await page.getByLabel('Notify when the balance is low').uncheck();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Off', { exact: true }).waitFor();
    expect(await system.json('alert', 'get', '--account', accountId)).toMatchObject({ enabled: false, threshold_usd: '10' });
    await page.getByLabel('Notify when the balance is low').check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Sends a notification below $10.00.').waitFor();

    // The form shows what was saved in another window, and does not offer to undo it.
    const other = await open();
    await other.getByLabel('Below this amount in USD').fill('12');
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Sends a notification below $12.00.').waitFor();
    await expectSoon(async () => expect(await page.getByLabel('Below this amount in USD').inputValue()).toBe('12'));
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true));
    await page.getByLabel('Below this amount in USD').fill('10');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Sends a notification below $10.00.').waitFor();
    await other.close();

    mail.refused.set('ada@example.com', { code: 550, words: 'no such mailbox' });
    await page.getByRole('button', { name: 'Send a test' }).click();
    const outcome = page.getByRole('status').filter({ hasText: 'Test result' });
    await outcome.waitFor();
    const result = await outcome.innerText();
    for (const words of ['queued as 7', 'no such mailbox']) expect(result).toContain(words);
    // A failed delivery is shown next to the alert, not only in the log.
    await page.getByText('Notifications are failing').waitFor();
    await page.locator('summary', { hasText: 'Notifications sent' }).click();
    const table = page.getByRole('table', { name: 'Notifications sent' });
    await table.getByText('no such mailbox').waitFor();
    await expectSoon(async () => expect(await table.locator('tbody tr').count()).toBe(2));
    await page.setViewportSize({ width: 1280, height: 1700 });
    await screenshot(page, 'billing-alert-tested');
    await page.close();
  });

  it('add an endpoint, show its secret once in a dialog that does not close by accident, and send a test', async () => {
    const page = await owner.open(`/accounts/${accountId}/webhooks`);
    await page.getByText('No endpoints yet').waitFor();
    const [box, heading] = [page.locator('main section').first(), page.getByRole('heading', { name: 'Deliveries' })];
    const { y, height } = (await box.boundingBox())!;
    expect((await heading.boundingBox())!.y - (y + height)).toBeGreaterThan(16);
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('URL').fill('ftp://example.com');
    await form.getByLabel('All events').uncheck();
    await form.getByRole('button', { name: 'Add endpoint' }).click();
    await form.getByText('Select at least one event.').waitFor();
    await form.getByLabel('key.refused').check();
    await form.getByRole('button', { name: 'Add endpoint' }).click();
    await form.getByText('must be a URL that begins with').waitFor();
    await form.getByLabel('URL').fill(`${hook.url}/events`);
    expect(await accessibilityFaults(page)).toEqual([]);
    await form.getByRole('button', { name: 'Add endpoint' }).click();
    await page.getByRole('heading', { name: 'Signing secret' }).waitFor();
    const secret = await page.getByRole('dialog').locator('pre').innerText();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: `Actions for ${hook.url}/events` }).click();
    await page.getByRole('menuitem', { name: 'Send a test event' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('status').filter({ hasText: 'status 200: thanks' }).waitFor();
    const { body, headers } = hook.requests.at(-1)!;
    await new OpenAI({ apiKey: 'unused' }).webhooks.verifySignature(body, headers as Record<string, string>, secret);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    const log = page.getByRole('table', { name: 'Deliveries' });
    await log.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Resend' }).click();
    await page.getByText('Event delivered').waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await showTheme(page, theme);
      expect(await accessibilityFaults(page, theme === 'light' ? 'all' : 'colours')).toEqual([]);
      await screenshot(page, `webhooks-${theme}`);
    }
    await page.close();
  });

  it('leave an endpoint disabled that was disabled while its form was open', async () => {
    const page = await owner.open(`/accounts/${accountId}/webhooks`);
    const { id } = await system.json<{ id: string }>('webhook', 'list', '--account', accountId);
    const act = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: `Actions for ${hook.url}/events` }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    const table = page.getByRole('table', { name: 'Webhooks' });
    await act('Edit');
    await system.cli('webhook', 'update', id, '--disable', '--account', accountId);
    await page.getByLabel('Description').fill('Billing');
    await page.getByRole('button', { name: 'Save' }).click();
    await table.getByText('Billing').waitFor();
    await table.getByText('Disabled').waitFor();
    await act('Enable');
    await table.getByText('Enabled').waitFor();
    await page.close();
  });

  it('show a banner on every page only while the balance is low', async () => {
    mail.refused.clear();
    const page = await owner.open(`/accounts/${accountId}/keys`);
    await expectSoon(async () => expect(await page.getByText('The balance is low:').count()).toBe(0));
    await system.cli('balance', 'adjust', '-11.5', '--account', accountId, '--reason', 'a test');
    await page.getByText('The balance is low: $8.50 left, below the alert threshold of $10.00.').waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await showTheme(page, theme);
      expect(await accessibilityFaults(page, theme === 'light' ? 'all' : 'colours')).toEqual([]);
      await screenshot(page, `balance-low-${theme}`);
    }
    await page.getByRole('link', { name: 'Add funds' }).click();
    await page.getByText(/^Sent .*\. Armed again when the balance reaches \$12\.00\.$/).waitFor();
    await eventually(() => (mail.mails.some(({ raw }) => raw.includes('Subject: Low balance')) ? true : undefined));
    await system.cli('balance', 'deposit', '2', '--account', accountId);
    await page.getByText('The balance is low:').waitFor({ state: 'detached' });
    await page.close();
  });

  it('notify the webhook and appear in the log once when a key begins to refuse calls', async () => {
    const { id: key, secret } = await createKey(system, 'importer', '--account', accountId, '--limit', '0.000001');
    for (let calls = 0; calls < 3; calls += 1)
      expect((await chat(system, secret, { model: 'sandbox/story', max_tokens: 100 })).status).toBe(402);
    const alerts = () =>
      hook.requests
        .map(({ body }) => JSON.parse(body) as Record<string, unknown>)
        .filter(({ type, test }) => type === 'key.refused' && test === undefined);
    const [alert] = await eventually(() => (alerts().length > 0 ? alerts() : undefined));
    expect(alert).toMatchObject({ account_id: accountId, data: { key_id: key, reason: 'key_limit_reached' } });
    const page = await open();
    await page.locator('summary', { hasText: 'Notifications sent' }).click();
    await page.getByText('is refusing calls: key limit reached').first().waitFor();
    await page.getByRole('table', { name: 'Notifications sent' }).getByRole('link', { name: 'importer' }).first().waitFor();
    expect(alerts()).toHaveLength(1);
    await page.close();
  });

  it('open the provider’s page to add money, and wait for the credit afterwards', async () => {
    const page = await open();
    await page.getByLabel('Amount in USD', { exact: true }).fill('51');
    await page.keyboard.press('Enter');
    await page.getByText('must be from $5 to $50').waitFor();
    await page.getByRole('button', { name: '$25.00' }).click();
    await page.getByRole('button', { name: 'Pay with Stripe' }).click();
    await page.getByRole('heading', { name: 'Pay $25.00' }).waitFor();
    const session = stripe.sessions.at(-1)!;
    await page.locator('#pay').click();
    await page.getByText('Waiting for the payment…').waitFor();
    await screenshot(page, 'billing-payment-awaited');
    expect(await accessibilityFaults(page)).toEqual([]);
    const before = Number(await available());
    const response = await stripe.send(system.baseUrl, stripe.event('checkout.session.completed', stripe.pay(session.id)));
    expect(response.status).toBe(200);
    await page.getByText('$25.00 was added to the balance.').waitFor();
    expect(Number(await available())).toBe(before + 25);
    await page.getByRole('table', { name: 'Deposits and receipts' }).getByText(`stripe ${session.id}`).waitFor();
    await page.getByRole('link', { name: 'Show the receipt' }).click();
    await page.getByRole('heading', { level: 1, name: /^Receipt/ }).waitFor();
    await page.close();
  });

  it('handle a return without payment', async () => {
    const page = await open();
    await page.getByLabel('Amount in USD', { exact: true }).fill('5');
    await page.keyboard.press('Enter');
    await page.locator('#back').click();
    await page.getByText('The payment was cancelled. Nothing was charged.').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('The payment was cancelled.').waitFor({ state: 'detached' });
    await page.close();
  });

  it('show a viewer the alert, but no controls to change it or to pay', async () => {
    const viewer = await newMember(chromium, system, { email: 'viewer@example.com', password }, { width: 375 });
    const page = await open(viewer);
    await page.getByText('ops@example.com, ada@example.com').waitFor();
    for (const name of ['Save', 'Send a test', 'Pay with Stripe'])
      await expectSoon(async () => expect(await page.getByRole('button', { name }).count()).toBe(0));
    expect(await sidewaysScroll(page)).toBe(0);
    await viewer.close();
  });

  it('show no controls to change webhooks to a viewer with a role in one project only', async () => {
    const { id: projectId } = await system.json<{ id: string }>('project', 'create', 'Search', '--account', accountId);
    await addMember(system, accountId, 'guest@example.com', 'viewer');
    await system.cli('member', 'project', 'guest@example.com', projectId, '--role', 'developer');
    const guest = await newMember(chromium, system, { email: 'guest@example.com', password });
    const page = await guest.open(`/accounts/${accountId}/webhooks`);
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    await settledPage(page);
    expect(await page.getByRole('button', { name: 'Add endpoint' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: /^Actions for http/ }).count()).toBe(0);
    await guest.close();
  });

  it('fit a narrow screen in both themes, and are available in Chinese', async () => {
    const narrow = await newPerson(chromium, system.baseUrl, { width: 375, language: 'zh-CN' });
    await narrow.context.request.post('console/api/session', {
      data: { email: 'owner@example.com', password },
      headers: { 'x-tollgate-console': '1' },
    });
    const page = await open(narrow, '?payment=cancelled');
    await page.getByRole('heading', { name: '提醒', exact: true }).waitFor();
    await page.locator('summary', { hasText: '已发送的通知' }).click();
    await page.getByRole('table', { name: '已发送的通知' }).waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await showTheme(page, theme);
      expect(await accessibilityFaults(page, theme === 'light' ? 'all' : 'colours')).toEqual([]);
      await screenshot(page, `billing-alert-${theme}-375`);
    }
    expect(await sidewaysScroll(page)).toBe(0);
    expect(narrow.faults).toEqual([]);
    await narrow.close();
  });
});
