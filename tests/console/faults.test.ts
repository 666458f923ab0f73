// Errors as users see them: refusals in their language, and data that cannot be refreshed.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium } from 'playwright-core';
import { accessibilityFaults, newMember, screenshot, sidewaysScroll, startChromium } from '../support/clients/chromium.js';
import { addMember, password } from '../support/clients/console.js';
import { startSystem, type System } from '../support/systems/system.js';

const owner = { email: 'owner@example.com', password };

/** Pages below which the server is stopped; the long form has every page. */
const stops =
  process.env['TOLLGATE_TEST_WIDTHS'] === 'all'
    ? [
        ['', '/keys', '/projects', '/usage', '/usage/records', '/usage/refusals'].map((path) => `/accounts/:account${path}`),
        ['/billing', '/webhooks', '/playground', '/members', '/audit'].map((path) => `/accounts/:account${path}`),
        ['accounts', 'users', 'callers', 'models', 'upstreams', 'codes', 'audit', 'health'].map((path) => `/operator/${path}`),
        ['/settings', '/sign-in', '/sign-up', '/forgot'],
      ]
    : [['/accounts/:account/keys', '/accounts/:account/usage/records', '/operator/upstreams']];

describe('faults in the console', () => {
  let system: System;
  let chromium: Chromium;
  let accountId: string;

  beforeAll(async () => {
    system = await startSystem('single');
    chromium = await startChromium();
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    await addMember(system, accountId, owner.email, 'owner', '--operator');
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  it('are shown in Chinese to users of the Chinese console, with their details, from a dictionary that is loaded with the first error', async () => {
    const person = await newMember(chromium, system, owner, { language: 'zh-CN' });
    const page = await person.open(`/accounts/${accountId}/billing`);
    await page.getByLabel('兑换码').fill('TGC-00000-00000-00000-00000');
    const scripts: string[] = [];
    page.on('request', (request) => scripts.push(request.url()));
    await page.keyboard.press('Enter');
    await page.getByText('此兑换码不存在、已被使用或已失效。').waitFor();
    expect(scripts.filter((url) => /assets\/errors-.*\.js$/.test(url))).toHaveLength(1);

    // The account has no funds, and the message says how much is available.
    await page.goto(`console/accounts/${accountId}/keys?create`);
    await page.getByRole('dialog').getByLabel('名称').fill('x'.repeat(10));
    await page.getByRole('dialog').getByRole('button', { name: '创建密钥' }).click();
    await page.getByTestId('secret').waitFor();
    await page.goto(`console/accounts/${accountId}/playground`);
    await page.getByLabel('您的消息').fill('你好');
    await page.keyboard.press('Enter');
    await page.getByText(/账户余额不足：需要 \$0\.\d+，可用 \$0(\.00)?。请为账户充值/).waitFor();

    // None of it is in English.
    expect(await page.getByRole('alert').locator('[lang=en]').count()).toBe(0);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('that were shown in English are shown in Chinese when the user switches to Chinese', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`/accounts/${accountId}/playground`);
    await page.getByLabel('Your message').fill('Hello');
    await page.keyboard.press('Enter');
    await page.getByText('The account balance is too low').waitFor();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByText('简体中文').click();
    await page.keyboard.press('Escape');
    await page.getByText('账户余额不足：需要').waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('show on every page how old its data are while the gateway cannot be reached, and refresh them automatically afterwards', async () => {
    const person = await newMember(chromium, system, owner, { width: 375 });
    const page = await person.open(`/accounts/${accountId}/billing`);
    await page.getByRole('link', { name: '$0.00' }).first().waitFor();
    const note = page.getByText('Tollgate cannot be reached. Trying again…');
    expect(await note.count()).toBe(0);
    await person.context.route('**/console/api/**', (route) => route.abort());
    await note.waitFor();
    await page.getByText(/Last updated \d+ seconds ago\./).waitFor();
    // Known data stay on the page, and its parts show no errors of their own.
    await page.getByRole('link', { name: '$0.00' }).first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await sidewaysScroll(page)).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    await screenshot(page, 'not-fresh-light-375');
    await system.cli('balance', 'deposit', '7', '--account', accountId);
    await person.context.unroute('**/console/api/**');
    await note.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: '$7.00' }).first().waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('also show it when requests get no response, and offer a retry', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`/accounts/${accountId}/keys`);
    await page.getByRole('row').nth(1).waitFor();
    let isBack = false;
    await person.context.route('**/console/api/**', (route) => (isBack ? route.continue() : undefined));
    const note = page.getByText('Tollgate cannot be reached. Trying again…');
    await note.waitFor();
    const retry = (await page.getByRole('banner').getByRole('button', { name: 'Try again' }).elementHandle())!;
    // At once, or the page's own next attempt may take the button away before it is pressed.
    isBack = true;
    await retry.dispatchEvent('click');
    await note.waitFor({ state: 'detached' });
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it.each(stops.map((paths) => [paths]))(
    'show one message on %j while the server is stopped, and the page without a reload once it is started again',
    async (paths) => {
      const person = await newMember(chromium, system, owner);
      // All of them show the start page. Their own files are not loaded yet.
      const pages = await Promise.all(paths.map(() => person.open(`/accounts/${accountId}`)));
      const isOpen = await Promise.all(pages.map((page) => page.evaluateHandle(() => document.body)));
      await system.kill();
      for (const [index, page] of pages.entries()) {
        await page.evaluate((path) => history.pushState({}, '', path), `/console${paths[index]!.replace(':account', accountId)}`);
        await page.getByText('Tollgate cannot be reached. Trying again…').waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
      }
      await system.start();
      for (const [index, page] of pages.entries()) {
        await page.getByText('Tollgate cannot be reached. Trying again…').waitFor({ state: 'detached' });
        await page.locator('h1').first().waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
        // The document is the same: nothing was loaded again.
        expect(await isOpen[index]!.evaluate((body) => body === document.body)).toBe(true);
      }
      expect(person.faults).toEqual([]);
      await person.close();
    },
  );
});
