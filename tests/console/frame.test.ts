// The frame of the console: users who are not signed in are asked to, appearance settings are remembered, and pages are reachable by keyboard.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { accessibilityFaults, newMember, newPerson, type Page, sidewaysScroll, startChromium } from '../support/clients/chromium.js';
import { addUser, password } from '../support/clients/console.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const owner = { email: 'owner@example.com', password };

/** Waits until the keyboard and screen readers are at the heading of the page that a link led to. */
async function reachedHeading(page: Page, name: string): Promise<void> {
  await page.waitForFunction((text) => document.activeElement?.tagName === 'H1' && document.activeElement.textContent === text, name);
}

describe.each(browserModes)('the console’s frame, %s', (mode) => {
  let system: System;
  let chromium: Browser;

  beforeAll(async () => {
    system = await startSystem(mode);
    chromium = await startChromium();
    await addUser(system, owner.email, owner.password, '--name', 'Olga');
    await system.cli('member', 'put', owner.email, '--role', 'owner');
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  it('asks users who are not signed in to sign in, and then opens the page that they requested', async () => {
    const person = await newPerson(chromium, system.baseUrl);
    const page = await person.open('/settings');
    await page.waitForURL(/\/console\/sign-in\?next=%2Fsettings$/);
    // With the complete address, unchanged.
    await page.goto('console/settings?q=a%26b');
    await page.waitForURL(/\/console\/sign-in\?next=%2Fsettings%3Fq%3Da%2526b$/);
    await person.close();
  });

  it('is one link away from the landing page at the bare address', async () => {
    const person = await newPerson(chromium, system.baseUrl);
    const page = await person.context.newPage();
    await page.goto('');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.waitForURL(/\/console\/sign-in$/);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('has a link past the navigation as the first stop of Tab, on public pages too', async () => {
    const person = await newMember(chromium, system, owner);
    const stranger = await newPerson(chromium, system.baseUrl);
    const check = async ({ context }: typeof person, path: string): Promise<void> => {
      const page = context.pages()[0] ?? (await context.newPage());
      await page.goto(path);
      await page.locator('h1').first().waitFor();
      await page.keyboard.press('Tab');
      const link = page.getByRole('link', { name: 'Skip to content' });
      expect(await link.evaluate((element) => element === document.activeElement && element.getBoundingClientRect().height > 20)).toBe(
        true,
      );
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.activeElement?.tagName === 'MAIN');
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
    };
    await check(person, 'console/settings');
    for (const path of ['', 'models', 'docs', 'console/sign-in']) await check(stranger, path);
    await person.close();
    await stranger.close();
  });

  it('shows the balance, and opens pages by keyboard', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open('/');
    await page.waitForURL(/\/console\/accounts\/acct_\w+$/);
    const { available_usd: available } = await system.json<{ available_usd: string }>('balance', 'show');
    await page.getByRole('link', { name: `$${Number(available).toFixed(2)} available` }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('k');
    await page.waitForURL(/\/keys$/);
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    expect(await page.title()).toBe('API keys · Tollgate');
    await reachedHeading(page, 'API keys');
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('does not move the focus of a user who continues before a page is shown', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open('/');
    const navigation = page.getByRole('navigation');
    const next = navigation.getByRole('link', { name: 'Usage records', exact: true }).first();
    await next.waitFor();
    await navigation
      .getByRole('link', { name: 'API keys', exact: true })
      .first()
      .evaluate((link) => (link as HTMLElement).click());
    await page.keyboard.press('Shift');
    await next.focus();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    // The page moves the focus within this time.
    await page.waitForTimeout(800);
    expect(await next.evaluate((link) => link === document.activeElement)).toBe(true);
    await person.close();
  });

  it('opens any page through the command palette, by keyboard', async () => {
    const key = await system.json<{ id: string }>('key', 'create', '--name', 'Night batch');
    const other = await system.json<{ id: string }>('key', 'create', '--name', 'Weekly report');
    const person = await newMember(chromium, system, owner);
    const page = await person.open('/');
    await page.waitForURL(/\/console\/accounts\/acct_\w+$/);
    const field = page.getByRole('combobox', { name: 'Go to' });
    const type = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      // The field has the focus, so that typing goes into it.
      await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'combobox');
      await page.keyboard.type(text);
    };
    const choose = async (text: string, name: string | RegExp): Promise<void> => {
      await type(text);
      await page.getByRole('option', { name }).waitFor();
    };

    // Before the key has been found.
    await type('night');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/keys/${key.id}$`));
    await reachedHeading(page, 'Night batch');
    await page.goBack();
    await reachedHeading(page, 'Home');

    // While the results of an earlier text are shown.
    await choose('night', 'Night batch');
    await field.selectText();
    await page.keyboard.type('weekly');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/keys/${other.id}$`));
    await reachedHeading(page, 'Weekly report');
    await page.goBack();
    await reachedHeading(page, 'Home');

    await choose('usage', /^Usage records/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/usage\/records$/);

    const requestId = `req_${'0'.repeat(32)}`;
    await page.keyboard.press('Control+k');
    await field.fill(requestId);
    await page.waitForURL(new RegExp(`/usage/records/${requestId}$`));

    await page.goto('console/settings');
    // A toast has the role of a dialog too.
    await page.getByLabel('Name', { exact: true }).fill('Olga Owner');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await type('settings');
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: /^Go to/ }).click();
    await field.fill('nothing has this name');
    await page.getByText('No results.').waitFor();
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'hidden' });

    await choose('sandbox echo', /^sandbox\/echo/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/models\/sandbox\/echo$/);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('does not cover a dialog with a secret that is shown only once', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open('/');
    await page.waitForURL(/\/console\/accounts\/acct_\w+$/);
    await page.goto(`${page.url()}/keys?create`);
    await page.getByLabel('Name').fill('not yet saved');
    await page.keyboard.press('Control+k');
    await page.waitForTimeout(200);
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(await page.getByLabel('Name').inputValue()).toBe('not yet saved');
    await person.close();
  });

  it('reports when a part of it cannot be loaded, and keeps the page usable', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open('/');
    await page.waitForURL(/\/console\/accounts\/acct_\w+$/);
    await page.getByText('available', { exact: false }).first().waitFor();
    await page.route('**/assets/frame-dialogs*.js', (route) => route.abort());
    await page.keyboard.press('Control+k');
    await page.getByRole('alert').getByText('Something went wrong').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('k');
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await person.close();
  });

  it('shows other users’ accounts by name to an operator, and unknown accounts to nobody', async () => {
    await addUser(system, 'operator@example.com', owner.password, '--operator');
    const { id } = await system.json<{ id: string }>('account', 'create', 'Somebody else');
    const person = await newMember(chromium, system, { email: 'operator@example.com', password: owner.password });
    const page = await person.open(`/accounts/${id}/keys`);
    await page.getByRole('navigation').getByText('Somebody else').first().waitFor();
    // A name without a space is broken too.
    await system.cli('account', 'rename', id, 'A'.repeat(200));
    await page.goto(`console/accounts/${id}`);
    await page.locator('main').getByText('A'.repeat(200)).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await page.goto('console/accounts/acct_00000000000000000000000000000000/keys');
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    await person.close();
    const stranger = await newMember(chromium, system, owner);
    const foreign = await stranger.open(`/accounts/${id}/keys`);
    await foreign.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    await stranger.close();
  });

  it('keeps what was typed if the session ends meanwhile and the same user signs in again', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open('/');
    await page.waitForURL(/\/accounts\/acct_\w+$/);
    const keys = `${page.url()}/keys?create`;
    await page.goto(keys);
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('typed before');
    await form.getByText('Limits', { exact: false }).first().click();
    await form.getByLabel('Lifetime limit in USD').fill('3');
    const endSession = async (): Promise<void> => {
      await person.context.request.delete('console/api/session', { headers: { 'x-tollgate-console': '1' } });
    };
    await endSession();
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    // Nothing of the user can be seen or reached.
    expect(await form.isVisible()).toBe(false);
    expect(await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'API keys' }).count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    const signIn = async (email: string): Promise<void> => {
      await page.getByLabel('Email address').fill(email);
      await page.getByLabel('Password').fill(owner.password);
      await page.keyboard.press('Enter');
    };
    await signIn(owner.email);
    await form.waitFor();
    expect([await form.getByLabel('Name').inputValue(), await form.getByLabel('Lifetime limit in USD').inputValue()]).toEqual([
      'typed before',
      '3',
    ]);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('secret').waitFor();
    await page.getByRole('button', { name: 'I have saved it' }).click();

    // Another user sees none of it.
    await page.goto(keys);
    await form.getByLabel('Name').fill('typed by the owner');
    await addUser(system, 'third@example.com', owner.password);
    await endSession();
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await signIn('third@example.com');
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    expect(await page.content()).not.toContain('typed by the owner');
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('is that of the user who signed in last in another tab', async () => {
    await addUser(system, 'second@example.com', owner.password);
    const person = await newMember(chromium, system, owner);
    const first = await person.open('/settings');
    await first
      .getByLabel('Email address')
      .and(first.locator(`[value="${owner.email}"]`))
      .waitFor();
    const second = await person.open('/settings');
    await second.getByRole('button', { name: 'Settings' }).click();
    await second.getByRole('button', { name: 'Sign out' }).click();
    await second.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await second.getByLabel('Email address').fill('second@example.com');
    await second.getByLabel('Password').fill(owner.password);
    await second.keyboard.press('Enter');
    await second.waitForURL((url) => !url.pathname.endsWith('/sign-in'));
    await first.evaluate(() => dispatchEvent(new Event('focus')));
    await first.getByLabel('Email address').and(first.locator('[value="second@example.com"]')).waitFor();
    await person.close();
  });

  it('remembers theme and language, without flashing in another one', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open('/');
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByText('Dark', { exact: true }).click();
    await page.getByText('简体中文').click();
    await page.reload();
    await page.getByRole('button', { name: '设置' }).waitFor();
    expect(await page.evaluate(() => [document.documentElement.dataset['theme'], document.documentElement.lang])).toEqual([
      'dark',
      'zh-CN',
    ]);
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe('rgb(18, 20, 23)');
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('serves its files compressed and cacheable, and loads none from elsewhere', async () => {
    const index = await (await fetch(`${system.baseUrl}/console/`)).text();
    const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(index)![1]!;
    const response = await fetch(`${system.baseUrl}/console/${script}`, { headers: { 'accept-encoding': 'gzip' } });
    expect([response.headers.get('content-encoding'), response.headers.get('cache-control')]).toEqual([
      'gzip',
      'public, max-age=31536000, immutable',
    ]);
    const again = await fetch(`${system.baseUrl}/console/${script}`, {
      headers: { 'if-none-match': response.headers.get('etag')!, 'cache-control': 'max-age=0' },
    });
    expect(again.status).toBe(304);
    for (const path of ['assets/nothing.js', 'assets/..%2f..%2fpackage.json'])
      expect((await fetch(`${system.baseUrl}/console/${path}`)).status).toBe(404);
    expect(index).not.toMatch(/https?:\/\//);
  });
});
