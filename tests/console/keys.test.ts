// API keys in a real browser: created, shown once, copied, used by real clients, monitored, rotated, disabled and revoked.
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { Browser as Chromium, Locator } from 'playwright-core';
import { usdText } from '../../console/src/format/money.js';
import { chat, settled } from '../support/clients/calls.js';
import {
  accessibilityFaults,
  expectSoon,
  newMember,
  newPerson,
  type Page,
  type Person,
  popup,
  pressTwice,
  screenshot,
  sidewaysScroll,
  startChromium,
} from '../support/clients/chromium.js';
import { addMember, type Browser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const owner = { email: 'owner@example.com', password };
const viewer = { email: 'viewer@example.com', password };
/** A host name that only the test's browser resolves. Over plain http it is not a secure context, like an address in a local network. */
const plainHost = 'tollgate.test';

describe.each(browserModes)('API keys in the console, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let api: Browser;
  let accountId: string;
  let keysPath: string;

  beforeAll(async () => {
    system = await startSystem(mode);
    chromium = await startChromium([`--host-resolver-rules=MAP ${plainHost} 127.0.0.1`]);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    keysPath = `/accounts/${accountId}/keys`;
    await system.cli('balance', 'deposit', '5', '--account', accountId);
    for (const [who, role] of [
      [owner, 'owner'],
      [viewer, 'viewer'],
    ] as const) {
      await addMember(system, accountId, who.email, role);
    }
    api = await signedIn(system, owner.email);
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  interface KeyView {
    readonly id: string;
    readonly name: string;
    readonly state: string;
    readonly spent_usd: string;
    readonly limit_usd: string | null;
    readonly models: readonly string[] | null;
    readonly allowed_addresses: readonly string[];
    readonly expires_at: string | null;
  }

  const keyNamed = async (name: string): Promise<KeyView> =>
    (await api.get<{ data: KeyView[] }>(`${keysPath}?q=${encodeURIComponent(name)}`)).data[0]!;
  const status = async (secret: string): Promise<number> => {
    const response = await chat(system, secret);
    await response.text();
    return response.status;
  };
  const secretOn = async (page: Page): Promise<string> => (await page.getByTestId('secret').textContent())!.trim();
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

  async function create(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await popup(page).getByLabel('Name').fill(name);
    await popup(page).getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('secret').waitFor();
  }

  async function act(page: Page, name: string, action: string): Promise<void> {
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  }

  async function paste(page: Page): Promise<string> {
    const field = page.getByRole('searchbox', { name: 'Search keys' });
    await field.fill('');
    await field.press('Control+V');
    const pasted = await field.inputValue();
    await field.fill('');
    return pasted;
  }

  const soon = (check: () => Promise<void>): Promise<boolean> => eventually(async () => (await check(), true));

  async function expectNoFaults(person: Person): Promise<void> {
    expect(person.faults).toEqual([]);
    await person.close();
  }

  it('are created with only a name, shown until they are saved, work immediately, and confirm the first call on the page', async () => {
    const person = await newMember(chromium, system, owner);
    await person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await person.open(keysPath);
    await page.getByText('No API keys yet').waitFor();
    await create(page, 'server');
    const secret = await secretOn(page);
    expect(secret).toMatch(/^sk-tg-\w{49}$/);
    await page.getByText('keep it only in a server-side environment variable or a secret manager, never in client-side code').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await screenshot(page, 'key-reveal-light-1280');

    // It does not close by accident.
    await page.keyboard.press('Escape');
    await page.mouse.click(4, 4);
    await page.evaluate(() => history.back());
    await page.evaluate(() => history.back());
    const asked = new Promise<string>((resolve) => page.once('dialog', (box) => void box.dismiss().then(() => resolve(box.type()))));
    await page.evaluate(() => setTimeout(() => location.reload()));
    expect(await asked).toBe('beforeunload');
    expect(await secretOn(page)).toBe(secret);

    await page.getByRole('button', { name: 'Copy key' }).click();
    await popup(page).getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);

    await page.getByText('Waiting for the first call with this key…').waitFor();
    const openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: secret });
    const { choices } = await openai.chat.completions.create({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
    expect(choices[0]!.message.content).toBe('Hello');
    await page.getByText('It works. The call was recorded').waitFor();
    const { data: records } = await api.get<{ data: { request_id: string; charge_usd: string; model: string }[] }>(
      `/accounts/${accountId}/usage/records`,
    );
    await page.getByText(`sandbox/echo, ${usdText(records[0]!.charge_usd)}`).waitFor();
    await expectSoon(async () =>
      expect(await page.getByRole('link', { name: 'Show the record' }).getAttribute('href')).toBe(
        `${system.baseUrl}/console/accounts/${accountId}/usage/records/${records[0]!.request_id}`,
      ),
    );

    // After copying, it can be closed.
    await page.keyboard.press('Escape');
    await popup(page).waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);

    const anthropic = new Anthropic({ baseURL: system.baseUrl, apiKey: secret });
    await anthropic.messages.create({ model: 'sandbox/echo', max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] });
    await settled(system, accountId);

    // The spend on the page equals that of the API, the records and the ledger.
    const key = await keyNamed('server');
    const { spent_usd: ledgerSpent } = await system.json<{ spent_usd: string }>('key', 'show', key.id);
    const { data: totals } = await api.get<{ data: { charge_usd: string }[] }>(`/accounts/${accountId}/usage/totals?key=${key.id}`);
    expect([key.spent_usd, totals[0]!.charge_usd]).toEqual([ledgerSpent, ledgerSpent]);
    await row(page, 'server').getByText(usdText(ledgerSpent)).waitFor();
    await row(page, 'server')
      .getByText(/ago|now/)
      .waitFor();
    await row(page, 'server').getByRole('link', { name: 'server' }).click();
    await page.getByRole('heading', { level: 1, name: 'server' }).waitFor();
    await page.getByText(usdText(ledgerSpent)).first().waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: usdText(records[0]!.charge_usd) })
      .first()
      .waitFor();
    await expectNoFaults(person);
  });

  it('stay visible when the session ends while they are shown', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(keysPath);
    await create(page, 'outlives the session');
    const secret = await secretOn(page);
    // Ends the session from another browser; the page detects this while it waits for the first call.
    const refused = page.waitForResponse((response) => response.status() === 401);
    await api.must('DELETE', '/me/sessions', undefined, 200);
    await refused;
    await page.waitForTimeout(500);
    expect(await secretOn(page)).toBe(secret);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await status(secret)).toBe(200);
    await expectNoFaults(person);
  });

  it('can be copied over plain http, and are never reported as copied when copying failed', async () => {
    const address = system.baseUrl.replace('127.0.0.1', plainHost);
    const person = await newPerson(chromium, address);
    const page = await person.open('/sign-in');
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    await page.evaluate(
      (who) =>
        fetch('api/session', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-tollgate-console': '1' },
          body: JSON.stringify(who),
        }).then(() => undefined),
      owner,
    );
    await page.goto(`console${keysPath}`);
    await create(page, 'over http');
    const secret = await secretOn(page);

    // A browser in which copying always fails.
    await page.evaluate(() => {
      const own = document.execCommand.bind(document);
      Object.assign(globalThis, { restore: () => (document.execCommand = own) });
      document.execCommand = () => false;
    });
    await page.getByRole('button', { name: 'Copy key' }).click();
    await page.getByText('Could not copy. Press Ctrl+C').waitFor();
    expect(await page.evaluate(() => getSelection()?.toString().trim())).toBe(secret);
    expect(await page.getByRole('button', { name: 'Copied' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    expect(await secretOn(page)).toBe(secret);

    await page.evaluate(() => (globalThis as unknown as { restore(): void }).restore());
    await page.getByRole('button', { name: 'Copy key' }).click();
    await popup(page).getByRole('button', { name: 'Copied' }).waitFor();
    // The samples use the address at which the console was opened.
    await popup(page).getByText(`curl ${address}/v1/chat/completions`).waitFor();
    await page.getByRole('tab', { name: 'Anthropic JS' }).click();
    await popup(page).getByText(`baseURL: "${address}"`).waitFor();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await popup(page).waitFor({ state: 'detached' });
    expect(await paste(page)).toBe(secret);
    expect(await status(secret)).toBe(200);
    await expectNoFaults(person);
  });

  it('fit into the dialogs of a phone, however long their names are', async () => {
    const person = await newMember(chromium, system, owner, { width: 390 });
    const page = await person.open(keysPath);
    const name = 'prod_eu_west_1_customer_chat_service_backend';
    const fits = async (button: string): Promise<void> => {
      const { x, width } = (await popup(page).getByRole('button', { name: button, exact: true }).boundingBox())!;
      expect(x + width).toBeLessThanOrEqual(390);
      expect(await popup(page).evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth)).toBe(0);
    };
    await create(page, name);
    await fits('I have saved it');
    expect(await status(await secretOn(page))).toBe(200);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await settled(system, accountId);
    // Its name has to be entered, because it was just used.
    await page.reload();
    await act(page, name, 'Revoke');
    await popup(page).getByLabel(`Type ${name}`).waitFor();
    await fits('Revoke');
    await expectNoFaults(person);
  });

  it('are created once, however often the button is pressed', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`/accounts/${accountId}`);
    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await popup(page).getByLabel('Name').fill('pressed twice');
    await popup(page).getByRole('button', { name: 'Create key' }).dblclick();
    const secret = await secretOn(page);
    const { data } = await api.get<{ data: KeyView[] }>(`${keysPath}?q=pressed`);
    expect(data.length).toBe(1);
    expect(await status(secret)).toBe(200);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await popup(page).waitFor({ state: 'detached' });
    // Leaving the page is no longer blocked once the dialog is closed.
    await page.waitForFunction(() => history.state === null || !('tollgateLeaveGuard' in (history.state as object)));
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await expectNoFaults(person);
  });

  it('are rotated once, however fast the button is pressed', async () => {
    await api.must('POST', keysPath, { name: 'turned once' }, 201);
    const person = await newMember(chromium, system, owner);
    const page = await person.open(keysPath);
    let rotations = 0;
    page.on('request', (request) => (rotations += request.url().endsWith('/rotate') ? 1 : 0));
    await act(page, 'turned once', 'Rotate secret');
    await pressTwice(popup(page).getByRole('button', { name: 'Rotate', exact: true }));
    await page.getByText('Your new secret').waitFor();
    expect(rotations).toBe(1);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await expectNoFaults(person);
  });

  it('still show their secret when the response that created them was lost', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${keysPath}?create`);
    let lost = 0;
    await page.route('**/keys', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue();
      lost += 1;
      await route.fetch();
      return route.abort();
    });
    await popup(page).getByLabel('Name').fill('lost answer');
    await popup(page).getByText('Limits', { exact: false }).first().click();
    // A choice that is counted from now: time passes between the two attempts.
    await popup(page).getByLabel('Expires').selectOption('30');
    await popup(page).getByRole('button', { name: 'Create key' }).click();
    await popup(page).getByText('No response from Tollgate').waitFor();
    await popup(page).getByRole('button', { name: 'Create key' }).click();
    const secret = await secretOn(page);
    expect([lost, (await api.get<{ data: KeyView[] }>(`${keysPath}?q=lost+answer`)).data.length, await status(secret)]).toEqual([
      1, 1, 200,
    ]);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await expectNoFaults(person);
  });

  it('can have limits, models and addresses, whose errors are shown at their fields', async () => {
    const person = await newMember(chromium, system, owner, { timeZone: 'Asia/Kolkata' });
    const page = await person.open(`${keysPath}?create`);
    const form = popup(page);
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByText('Enter a name.').waitFor();
    const hasFocus = (field: Locator) =>
      expectSoon(async () => expect(await field.evaluate((element) => element === document.activeElement)).toBe(true));
    await hasFocus(form.getByLabel('Name'));
    await form.getByLabel('Name').fill('careful');
    await form.getByText('Limits', { exact: false }).first().click();
    await form.getByLabel('Lifetime limit in USD').fill('a lot');
    await form.getByLabel('Expires').selectOption('custom');
    await form.getByText('Access', { exact: false }).first().click();
    await form.getByText('Selected models').click();
    await form.getByRole('button', { name: 'Create key' }).click();
    for (const fault of ['Enter an amount in USD, for example 5 or 0.25.', 'Choose a date and time.', 'Select at least one model.'])
      await form.getByText(fault).waitFor();
    await hasFocus(form.getByLabel('Lifetime limit in USD'));
    expect(await accessibilityFaults(page)).toEqual([]);
    await screenshot(page, 'key-create-faults-light-1280');
    await form.getByLabel('Lifetime limit in USD').fill('0.50');
    await form.getByLabel('Date and time (UTC+05:30)').fill('2027-01-31T12:00');
    await form.getByRole('button', { name: 'Create key' }).click();
    await hasFocus(form.getByLabel('Search models'));
    // The section without faults stays open, as the user left it.
    expect(await form.getByLabel('Lifetime limit in USD').isVisible()).toBe(true);
    await form.getByLabel('Search models').fill('echo');
    await form.getByRole('checkbox', { name: 'sandbox/echo' }).check();
    await form.getByRole('button', { name: 'Create key' }).click();
    const secret = await secretOn(page);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expect(await keyNamed('careful')).toMatchObject({ limit_usd: '0.5', models: ['sandbox/echo'], expires_at: '2027-01-31T06:30:00.000Z' });

    // A form that was only looked at can be saved.
    await act(page, 'careful', 'Edit');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await popup(page).waitFor({ state: 'detached' });

    // Errors from the gateway are shown at the field, too.
    await act(page, 'careful', 'Edit');
    await popup(page).getByLabel('Lifetime limit in USD').fill('9999999999.99');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await popup(page).getByText('must be at most 9,000,000,000').waitFor();
    await popup(page).getByLabel('Lifetime limit in USD').fill('2');
    // The error was about the value that was sent, and does not return when another field keeps the form from being sent.
    expect(await popup(page).getByText('must be at most').count()).toBe(0);
    await popup(page).getByLabel('Name').fill('');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await popup(page).getByText('Enter a name.').waitFor();
    expect(await popup(page).getByText('must be at most').count()).toBe(0);
    await popup(page).getByLabel('Name').fill('careful');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await popup(page).waitFor({ state: 'detached' });
    await act(page, 'careful', 'Edit');
    await popup(page).getByLabel('Lifetime limit in USD').fill('');
    await popup(page).getByText('All current and future models').click();
    await popup(page).getByLabel('Allowed addresses').fill('here');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await popup(page).getByText('"here" is neither').waitFor();
    await popup(page).getByLabel('Allowed addresses').fill('192.0.2.7\n2001:db8::/32');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await popup(page).waitFor({ state: 'detached' });
    expect(await keyNamed('careful')).toMatchObject({
      limit_usd: null,
      models: null,
      allowed_addresses: ['192.0.2.7', '2001:db8::/32'],
      expires_at: '2027-01-31T06:30:00.000Z',
    });
    // A call from elsewhere is refused, and the page of the key leads to the list.
    await eventually(async () => ((await status(secret)) === 403 ? true : undefined));
    await page.goto(`${system.baseUrl}/console${keysPath}/${(await keyNamed('careful')).id}`);
    await page.getByRole('link', { name: 'Change the addresses' }).click();
    await expectSoon(async () => expect(await popup(page).getByLabel('Allowed addresses').inputValue()).toBe('192.0.2.7\n2001:db8::/32'));
    // An expected refusal is no failure of the console. The form stays open when the page learns that the key was revoked.
    await api.must('POST', `${keysPath}/${(await keyNamed('careful')).id}/revoke`, {}, 200);
    await page.getByText('Revoked', { exact: true }).first().waitFor();
    await popup(page).getByLabel('Allowed addresses').fill('');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    const refusal = { hasText: 'The request was rejected', hasNotText: 'Request ID' };
    await popup(page).getByRole('alert').filter(refusal).waitFor();
    await expectNoFaults(person);
  });

  it('can be rotated with an overlap or immediately, disabled and enabled, and revoked by entering their name', async () => {
    // Browsers show several spaces as one.
    const { secret: first } = await api.must<{ secret: string }>('POST', keysPath, { name: 'turning  around' }, 201);
    expect(await status(first)).toBe(200);
    const person = await newMember(chromium, system, owner);
    const page = await person.open(keysPath);

    async function rotate(overlap: string): Promise<string> {
      await act(page, 'turning', 'Rotate secret');
      await popup(page).getByText(overlap, { exact: true }).click();
      await popup(page).getByRole('button', { name: 'Rotate', exact: true }).click();
      await page.getByText('Your new secret').waitFor();
      const secret = await secretOn(page);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'I have saved it' }).click();
      await popup(page).waitFor({ state: 'detached' });
      return secret;
    }

    const second = await rotate('In 1 hour');
    expect(await Promise.all([first, second].map(status))).toEqual([200, 200]);
    await row(page, 'turning').getByText('Rotating').waitFor();
    const third = await rotate('Immediately');
    await soon(async () => expect(await Promise.all([first, second, third].map(status))).toEqual([401, 401, 200]));
    await row(page, 'turning').getByText('Active').waitFor();

    await act(page, 'turning', 'Disable');
    await row(page, 'turning').getByText('Disabled').waitFor();
    await soon(async () => expect(await status(third)).toBe(403));
    // The list says that its calls are refused; why is one click away, and so is a call that is searched by its request id.
    const why = row(page, 'turning').getByRole('link', { name: /^Calls refused since [\d:]+: key disabled$/ });
    await why.waitFor();
    const [list] = await Promise.all([person.context.newPage(), page.getByRole('button', { name: 'Undo' }).click()]);
    await list.goto(new URL((await why.getAttribute('href'))!, page.url()).href);
    const refused = list.getByRole('table', { name: 'Refused calls' }).getByRole('row').nth(1);
    const requestId = (await refused.getByRole('link').first().getAttribute('href'))!.split('/').at(-1)!;
    await list.goto(`console/accounts/${accountId}/usage/records`);
    await list.getByRole('searchbox').fill(requestId);
    await list.keyboard.press('Enter');
    await list.getByText('This call was refused: key disabled').waitFor();
    await list.goto(`console/accounts/${accountId}/usage/records/${requestId}`);
    await list.getByRole('heading', { level: 1, name: 'Call', exact: true }).waitFor();
    await list.getByText(requestId, { exact: true }).waitFor();
    await list.goto(`console/accounts/${accountId}`);
    await list.getByText(/^\d+ calls? (was|were) refused in the last 24 hours$/).waitFor();
    await list.getByRole('link', { name: 'turning around', exact: true }).first().click();
    await list.getByText(/^Calls refused since/).waitFor();
    expect(await accessibilityFaults(list)).toEqual([]);
    await list.close();
    await row(page, 'turning').getByText('Active').waitFor();
    await soon(async () => expect(await status(third)).toBe(200));
    await why.waitFor({ state: 'detached' });

    // The key has just been used.
    await act(page, 'turning', 'Revoke');
    await popup(page).getByText('A program may still depend on it.').waitFor();
    await expectSoon(async () => expect(await popup(page).getByRole('button', { name: 'Revoke' }).isDisabled()).toBe(true));
    await popup(page).getByLabel('Type turning around to confirm').fill('turning around');
    await popup(page).getByRole('button', { name: 'Revoke' }).click();
    await row(page, 'turning').waitFor({ state: 'detached' });
    await soon(async () => expect(await status(third)).toBe(401));
    await page.getByLabel('State').selectOption('revoked');
    await row(page, 'turning').getByText('Revoked', { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('state')).toBe('revoked');
    await expectNoFaults(person);
  });

  it('show the time until an expiry in days, without naming a day', async () => {
    const { key } = await api.must<{ key: { id: string } }>('POST', keysPath, { name: 'to be rotated' }, 201);
    await api.must('POST', `${keysPath}/${key.id}/rotate`, { overlap_seconds: 47 * 3600 }, 200);
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${keysPath}/${key.id}`);
    await page.getByText('The old secret stops working in 1 day.').waitFor();
    await expectNoFaults(person);
  });

  it('can be found by name, state and address, and loaded page by page', async () => {
    for (let index = 0; index < 60; index += 1)
      await api.must('POST', keysPath, { name: `many ${index}`, ...(index === 59 ? { limit_usd: '3' } : {}) }, 201);
    const person = await newMember(chromium, system, owner, { width: 375 });
    const page = await person.open(`${keysPath}?q=many`);
    await page.getByRole('link', { name: 'many 59', exact: true }).waitFor();
    for (const text of ['Spend $0.00 · Limit $3.00', 'Last used: never'])
      await expectSoon(async () => expect((await row(page, 'many 59').innerText()).replace(/\s+/g, ' ')).toContain(text));
    await expectSoon(async () => expect(await page.getByRole('link', { name: /^many/ }).count()).toBe(50));
    for (const width of [320, 375, 768, 1024, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect([width, await sidewaysScroll(page)]).toEqual([width, 0]);
    }
    await page.setViewportSize({ width: 375, height: 800 });
    const listed = (request: { url(): string }): boolean => /\/keys\?.*q=many/.test(request.url());
    const [loadedAtMs] = await Promise.all([
      page.waitForRequest((request) => listed(request) && request.url().includes('cursor=')).then(() => Date.now()),
      page.getByRole('button', { name: 'Load more' }).click(),
    ]);
    await page.getByRole('link', { name: 'many 0', exact: true }).waitFor();
    await expectSoon(async () => expect(await page.getByRole('link', { name: /^many/ }).count()).toBe(60));
    // One page is fetched again every five seconds, two every ten.
    await page.waitForRequest(listed, { timeout: 30_000 });
    expect(Date.now() - loadedAtMs).toBeGreaterThan(9000);
    await page.getByRole('searchbox').fill('many 7');
    await page.getByRole('link', { name: 'many 59' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('q')).toBe('many 7');
    await page.getByRole('searchbox').fill('x'.repeat(201));
    await page.getByText('No keys match').waitFor();
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByText('No keys match').waitFor();
    await expectNoFaults(person);
  });

  it('for programs are created with scopes, shown once, and revoked, on a page of their own', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(keysPath);
    await page.getByRole('link', { name: 'Management keys' }).click();
    await page.getByRole('button', { name: 'Create management key' }).first().click();
    const form = popup(page);
    await form.getByLabel('Name').fill('deployment');
    await form.getByLabel('keys:write').check();
    await form.getByLabel('Allowed addresses').fill('127.0.0.1 ::1');
    await form.getByRole('button', { name: 'Create management key' }).click();
    const secret = await secretOn(page);
    const list = await fetch(`${system.baseUrl}/console/api${keysPath}`, { headers: { authorization: `Bearer ${secret}` } });
    expect(list.status).toBe(200);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page
      .getByRole('row')
      .filter({ hasText: 'deployment' })
      .filter({ hasText: 'keys:write' })
      .filter({ hasText: owner.email })
      .waitFor();
    await act(page, 'deployment', 'Revoke');
    await popup(page).getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    expect((await fetch(list.url, { headers: { authorization: `Bearer ${secret}` } })).status).toBe(401);

    // The sample for a key is a request that this key may send.
    for (const scope of ['usage:read', 'billing:read', 'projects:write', 'webhooks:read']) {
      await page.getByRole('button', { name: 'Create management key' }).first().click();
      await form.getByLabel('Name').fill(scope);
      await form.getByLabel(scope).check();
      await form.getByRole('button', { name: 'Create management key' }).click();
      const sample = await form.getByRole('region', { name: 'Try it in a shell' }).innerText();
      const [, url, bearer] = /^curl (\S+) [^]*"Authorization: (Bearer \S+)"$/.exec(sample)!;
      const response = await fetch(url!, { headers: { authorization: bearer! } });
      expect([scope, response.status]).toEqual([scope, 200]);
      await page.getByRole('button', { name: 'I have saved it' }).click();
    }
    await expectNoFaults(person);
  });

  it('are read-only for users who may not change them', async () => {
    const person = await newMember(chromium, system, viewer);
    const page = await person.open(`${keysPath}?q=server&create`);
    await row(page, 'server').waitFor();
    expect([await popup(page).count(), await page.getByRole('button', { name: 'Create key' }).count()]).toEqual([0, 0]);
    await page.getByRole('button', { name: 'Actions for server' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Show usage']);
    await expectNoFaults(person);
  });

  it('have an action menu that opens and closes like other menus', async () => {
    await api.must('POST', keysPath, { name: 'one of two' }, 201);
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${keysPath}?q=one+of+two`);
    const opener = page.getByRole('button', { name: 'Actions for one of two' });
    const focused = (): Promise<string> =>
      page.evaluate(() => document.activeElement?.textContent || (document.activeElement?.getAttribute('aria-label') ?? ''));
    const keys = async (...names: string[]): Promise<void> => {
      for (const name of names) await page.keyboard.press(name);
    };
    const isOpen = async (): Promise<boolean> => (await page.getByRole('menu').count()) === 1;
    await opener.focus();
    await keys('Enter');
    await soon(async () => expect(await focused()).toBe('Edit'));
    await keys('ArrowDown');
    expect(await focused()).toBe('Disable');
    await keys('ArrowUp', 'ArrowUp');
    expect(await focused()).toBe('Revoke');
    await keys('Home', 's');
    expect(await focused()).toBe('Show usage');
    // A letter selects an item of the menu instead of a page shortcut.
    await keys('g', 'k', 'Escape');
    expect([await isOpen(), await focused(), new URL(page.url()).search]).toEqual([false, 'Actions for one of two', '?q=one+of+two']);
    await keys('ArrowUp');
    await soon(async () => expect(await focused()).toBe('Revoke'));
    // Continues from the button, not from the menu's place in the page.
    await keys('Shift+Tab');
    expect([await isOpen(), await page.evaluate(() => document.activeElement!.closest('tr') !== null)]).toEqual([false, true]);

    // By pointer, the same button or a click elsewhere closes it.
    await opener.click();
    await expectSoon(async () => expect(await page.getByRole('menu', { name: 'Actions for one of two' }).count()).toBe(1));
    const [menu, button] = [(await page.getByRole('menu').boundingBox())!, (await opener.boundingBox())!];
    expect([Math.round(menu.x + menu.width), menu.y >= button.y + button.height]).toEqual([Math.round(button.x + button.width), true]);
    await opener.click();
    expect(await isOpen()).toBe(false);
    await opener.click();
    await page.getByRole('heading', { level: 1 }).click();
    expect(await isOpen()).toBe(false);
    // It opens above if there is no room below.
    await page.setViewportSize({ width: 1280, height: Math.round(button.y + button.height + 60) });
    await opener.click();
    expect((await page.getByRole('menu').boundingBox())!.y).toBeLessThan((await opener.boundingBox())!.y);

    // The dialog of an action returns the focus to the menu's button.
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    await popup(page).waitFor();
    await keys('Escape');
    await soon(async () => expect(await focused()).toBe('Actions for one of two'));
    await expectNoFaults(person);
  });

  it('can be created and copied by keyboard only', async () => {
    const person = await newMember(chromium, system, owner);
    await person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await person.open(keysPath);
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 60 && !(await focused()).startsWith(name); presses += 1) await page.keyboard.press('Tab');
      expect(await focused()).toMatch(new RegExp(`^${name}`));
    };
    await tabTo('Create key');
    await page.keyboard.press('Enter');
    await popup(page).waitFor();
    // The name field has the focus, and Enter submits the form.
    await page.keyboard.type('by keyboard');
    await page.keyboard.press('Enter');
    const secret = await secretOn(page);
    await tabTo('Copy key');
    await page.keyboard.press('Enter');
    await popup(page).getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
    await tabTo('I have saved it');
    await page.keyboard.press('Enter');
    await popup(page).waitFor({ state: 'detached' });
    await soon(async () => expect(await focused()).toMatch(/^Create key/));
    expect(await status(secret)).toBe(200);
    await expectNoFaults(person);
  });
});
