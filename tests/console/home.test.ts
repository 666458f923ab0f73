// The home page in a real browser: it guides a new account to its first call and further steps, and its figures equal the API's and the ledger's.
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium } from 'playwright-core';
import { usdText } from '../../console/src/format/money.js';
import { chat, settled } from '../support/clients/calls.js';
import {
  accessibilityFaults,
  expectSoon,
  newMember,
  type Page,
  popup,
  screenshot,
  sidewaysScroll,
  startChromium,
} from '../support/clients/chromium.js';
import { addMember, type Browser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const owner = { email: 'owner@example.com', password };
const viewer = { email: 'viewer@example.com', password };

describe.each(browserModes)('home, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let api: Browser;
  let accountId: string;
  let account: string;

  beforeAll(async () => {
    system = await startSystem(mode);
    chromium = await startChromium();
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Newcomers'));
    account = `/accounts/${accountId}`;
    await system.cli('balance', 'deposit', '5', '--account', accountId);
    await addMember(system, accountId, owner.email, 'owner');
    api = await signedIn(system, owner.email);
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  const progress = (page: Page, done: number): Promise<void> => page.getByText(`${done} of 4 done`).waitFor();
  const step = (page: Page, title: string) => page.locator('ol > li').filter({ hasText: title });
  const stat = async (page: Page, label: string): Promise<string> =>
    (await page
      .locator('dl')
      .filter({ has: page.getByText(label, { exact: true }) })
      .locator('dd')
      .first()
      .textContent())!;

  it('guides a new account to its first call, a limit and other members, and marks each step as done', async () => {
    const person = await newMember(chromium, system, owner, { width: 375 });
    const page = await person.open(account);
    await progress(page, 0);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await sidewaysScroll(page)).toBe(0);
    await screenshot(page, 'home-new-light-375');

    await step(page, 'Create an API key').getByRole('link', { name: 'Create key' }).click();
    await popup(page).getByLabel('Name').fill('first');
    await popup(page).getByRole('button', { name: 'Create key' }).click();
    const secret = (await page.getByTestId('secret').textContent())!.trim();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.goto(`console${account}`);
    await progress(page, 1);
    await step(page, 'Create an API key').getByText('(done)').waitFor();

    // The sample runs unchanged, except for the key.
    const shown = (await page.getByRole('region', { name: 'A first call with curl' }).textContent())!;
    expect(shown).toContain(`${system.baseUrl}/v1/chat/completions`);
    const run = (code: string): string =>
      execFileSync('sh', ['-c', code.replace("'sk-tg-…'", secret).replace('curl ', 'curl -s ')], { encoding: 'utf8' });
    expect(JSON.parse(run(shown))).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
    await progress(page, 2);
    const ask = (await page.getByRole('region', { name: 'What a key may still spend, with curl' }).textContent())!;
    expect(JSON.parse(run(`TOLLGATE_API_KEY=${secret}; ${ask}`))).toMatchObject({ object: 'key', name: 'first', limit_usd: null });

    await step(page, 'Set a limit for a key').getByRole('link', { name: 'Set a limit' }).click();
    await popup(page).getByLabel('Lifetime limit in USD').fill('1');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await popup(page).waitFor({ state: 'detached' });
    await page.goto(`console${account}`);
    await progress(page, 3);
    await expectSoon(async () =>
      expect(await step(page, 'Invite a member').getByRole('link', { name: 'Invite member' }).getAttribute('href')).toContain(
        `${account}/members`,
      ),
    );

    // Once hidden, it stays hidden on the next visit.
    await page.getByRole('button', { name: 'Hide this list' }).click();
    await page.getByText('Get started').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('heading', { name: 'Latest failed calls' }).waitFor();
    await expectSoon(async () => expect(await page.getByText('Get started').count()).toBe(0));
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('does not show the checklist once all steps are done', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(account);
    await progress(page, 3);
    await api.must('POST', `${account}/invitations`, { email: 'new@example.com', role: 'viewer' }, 201);
    await page.reload();
    await page.getByText('Latest failed calls').waitFor();
    await page.getByText('No failed calls.').waitFor();
    await expectSoon(async () => expect(await page.getByText('Get started').count()).toBe(0));
    await person.close();
  });

  it('shows the figures of the API and the ledger, and links to failed calls', async () => {
    const { secret, key } = await api.must<{ secret: string; key: { id: string } }>('POST', `${account}/keys`, { name: 'busy' }, 201);
    for (const model of ['sandbox/echo', 'sandbox/story', 'sandbox/story', 'sandbox/fail-500'])
      await (await chat(system, secret, { model, max_tokens: 40 })).text();
    await settled(system, accountId);
    const { available_usd: available, spent_usd: spent } = await system.json<{ available_usd: string; spent_usd: string }>(
      'balance',
      'show',
      '--account',
      accountId,
    );
    const top = async (by: string) =>
      (await api.get<{ data: { name: string; charge_usd: string }[] }>(`${account}/usage/totals?group_by=${by}`)).data;
    const [[dearestModel], [dearestKey], { data: failed }] = [
      await top('model'),
      await top('key'),
      await api.get<{ data: { request_id: string }[] }>(`${account}/usage/errors`),
    ];

    const person = await newMember(chromium, system, owner);
    const page = await person.open(account);
    await page.getByRole('link', { name: 'busy' }).waitFor();
    await expectSoon(async () => expect(await stat(page, 'Available')).toBe(usdText(available)));
    // The account is new, so that everything was spent today.
    for (const label of ['Spent today', 'Spent in 7 days', 'Spent in 30 days'])
      await expectSoon(async () => expect(await stat(page, label)).toBe(usdText(spent)));
    await expectSoon(async () => expect(await stat(page, 'Lasts for')).toMatch(/day|year/));
    // It begins with the spend of the month, to the last digit, also in the card of the chart's last bar with calls.
    await expectSoon(async () => expect(await stat(page, 'This month so far')).toBe(usdText(spent)));
    const chart = page.getByRole('group', { name: /^Cumulative spend this month, by model/ });
    await chart.focus();
    await page.keyboard.press('End');
    await expectSoon(async () => expect(await page.getByText('Cumulative', { exact: true }).count()).toBe(1));
    // Days to come have no figures.
    await page.getByText('Show as a table').click();
    const days = (
      await page
        .getByRole('table', { name: /^Cumulative spend this month/ })
        .getByRole('row')
        .allInnerTexts()
    ).slice(1);
    const today = new Date().getUTCDate();
    const figures = days.map((row) => row.split('\t')[1]!.trim());
    expect([figures[today - 1], figures.slice(today)]).toEqual([expect.stringContaining('$'), days.slice(today).map(() => '–')]);
    const firstRow = (caption: string) => page.getByRole('table', { name: caption }).getByRole('row').nth(1);
    expect([dearestModel!.name, dearestKey!.name]).toEqual(['sandbox/story', key.id]);
    for (const [caption, name, total] of [
      ['Models, 30 days', 'sandbox/story', dearestModel!],
      ['Keys, 30 days', 'busy', dearestKey!],
    ] as const) {
      await firstRow(caption).getByText(name).waitFor();
      await firstRow(caption).getByText(usdText(total.charge_usd)).waitFor();
    }
    const failure = firstRow('Latest failed calls');
    await failure.getByText('sandbox/fail-500').waitFor();
    await expectSoon(async () => expect(await failure.getByRole('link').getAttribute('href')).toContain(failed[0]!.request_id));
    expect(await accessibilityFaults(page)).toEqual([]);
    await screenshot(page, 'home-used-light-1280');
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('shows two figures per row on a phone, and a long one in its own row, beside the long name of a key', async () => {
    const { data: keys } = await api.get<{ data: { id: string; name: string }[] }>(`${account}/keys`);
    const [{ name: dearest }] = (await api.get<{ data: [{ name: string }] }>(`${account}/usage/totals?group_by=key`)).data;
    const name = 'n'.repeat(60);
    await api.must('PATCH', `${account}/keys/${keys.find(({ id }) => id === dearest)!.id}`, { name }, 200);
    const person = await newMember(chromium, system, owner, { width: 375 });
    const page = await person.open(account);
    const box = async (label: string): Promise<{ x: number; y: number; width: number }> =>
      (await page
        .locator('dl')
        .filter({ has: page.getByText(label, { exact: true }) })
        .boundingBox())!;
    await page.getByText('Spent today', { exact: true }).waitFor();
    // Content above may still load.
    await eventually(async () => {
      const [available, lasts] = [await box('Available'), await box('Lasts for')];
      return (available.y === lasts.y && available.x < lasts.x) || undefined;
    });
    await system.cli('balance', 'deposit', '234567890.123456789', '--account', accountId);
    await page.getByText('$234,567,89').first().waitFor();
    await eventually(async () => (await box('Available')).y < (await box('Lasts for')).y || undefined);
    const value = await page
      .locator('dl')
      .filter({ has: page.getByText('Available', { exact: true }) })
      .locator('dd')
      .first()
      .evaluate((element) => [element.scrollWidth <= element.clientWidth, element.textContent] as const);
    expect(value).toEqual([true, expect.stringMatching(/^\$234,567,89\d\.\d+$/)]);
    await page.getByRole('table', { name: 'Keys, 30 days' }).getByText(name).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('shows no checklist to viewers', async () => {
    await addMember(system, accountId, viewer.email, 'viewer');
    const person = await newMember(chromium, system, viewer);
    const page = await person.open(account);
    await page.getByRole('heading', { name: 'Latest failed calls' }).waitFor();
    await expectSoon(async () => expect(await page.getByText('Get started').count()).toBe(0));
    expect(person.faults).toEqual([]);
    await person.close();
  });
});
