// The operator's pages in the browser: credits with a reason, suspending an account, adding users, and the audit log of it all.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium, Page } from 'playwright-core';
import { chat } from '../support/clients/calls.js';
import {
  accessibilityFaults,
  expectSoon,
  fact,
  newMember,
  newPerson,
  type Person,
  popup,
  settledPage,
  startChromium,
} from '../support/clients/chromium.js';
import { addUser, password } from '../support/clients/console.js';
import { suspendLedger } from '../support/systems/ledger-unavailable.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const who = { email: 'operator@example.com', password };

describe.each(browserModes)('an operator in the browser, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let operator: Person;
  let accountId: string;
  let secret: string;

  beforeAll(async () => {
    [system, chromium] = await Promise.all([startSystem(mode), startChromium()]);
    await addUser(system, who.email, who.password, '--operator');
    operator = await newMember(chromium, system, who);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme Ltd'));
    ({ secret } = await system.json<{ secret: string }>('key', 'create', '--name', 'server', '--account', accountId));
  });

  afterAll(async () => {
    await operator?.close();
    await chromium?.close();
    await system?.stop();
  });

  const available = async (page: Page): Promise<string> =>
    (
      await page
        .locator('dl', { has: page.locator('dt', { hasText: /^Available$/ }) })
        .locator('dd')
        .first()
        .innerText()
    ).trim();

  it('finds an account and credits it with a reason, and balance, journal, statement and ledger agree', async () => {
    const page = await operator.show('/operator/accounts');
    await page.getByRole('searchbox', { name: 'Search by name or ID' }).fill('ACME');
    await eventually(async () => ((await page.getByRole('row').count()) === 2 ? true : undefined));
    expect(page.url()).toContain('q=ACME');
    await page.getByRole('link', { name: 'Acme Ltd' }).click();
    await page.getByRole('heading', { level: 1, name: 'Acme Ltd' }).waitFor();
    await expectSoon(async () => expect(await available(page)).toBe('$0.00'));

    await page.getByRole('button', { name: 'Credit' }).click();
    const form = popup(page);
    // The first field has the focus.
    await page.keyboard.type('$1.0000000001');
    await expectSoon(async () => expect(await form.getByLabel('Amount in USD').inputValue()).toBe('$1.0000000001'));
    await form.getByLabel('Reason').fill('invoice 7');
    await form.getByLabel('Reference').fill('INV-7');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.getByText('Must have at most 9 decimals.').waitFor();
    await form.getByLabel('Amount in USD').fill('20000000000');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.getByText('Must be at most 1,000,000,000.').waitFor();
    await form.getByLabel('Amount in USD').fill('$250.5');
    // Above the threshold, the same amount has to be entered twice.
    await form.getByLabel('Confirm amount').fill('25.05');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.getByText('must equal the amount, $250.5').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await form.getByLabel('Confirm amount').fill('250.5');
    // The error was about the value that was sent.
    expect(await form.getByText('must equal the amount').count()).toBe(0);
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.waitFor({ state: 'detached' });

    await eventually(async () => ((await available(page)) === '$250.50' ? true : undefined));
    const row = page.getByRole('table', { name: 'Journal' }).getByRole('row').nth(1);
    await row.getByText('invoice 7 (INV-7)').waitFor();
    await expectSoon(async () => expect(await row.innerText()).toContain('$250.50'));
    expect(await system.json('balance', 'show', '--account', accountId)).toMatchObject({ available_usd: '250.5' });
    // The account's own pages, opened as the operator.
    await page.getByRole('link', { name: 'Go to account' }).click();
    const billing = await operator.open(`/accounts/${accountId}/billing`);
    await billing.getByRole('table', { name: 'Deposits and receipts' }).getByRole('link').click();
    await fact(billing, 'Reference').getByText('INV-7', { exact: true }).waitFor();
    await billing.close();
    await page.getByText('$250.50').first().waitFor();
    expect((await system.json<{ ok: boolean }>('ledger', 'verify')).ok).toBe(true);
  });

  it('sees that an amount has to be repeated, although it need not be when the page was opened', async () => {
    const page = await operator.open(`/operator/accounts/${accountId}`);
    await page.route('**/console/api/operator/settings', (route) => route.fulfill({ json: { confirm_above_usd: '1000' } }));
    await page.getByRole('button', { name: 'Credit' }).click();
    const form = popup(page);
    await form.getByLabel('Amount in USD').fill('250');
    await form.getByLabel('Reason').fill('invoice 8');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.getByRole('alert').getByText('must repeat the amount, $250').waitFor();
    await page.close();
  });

  it('sees all accounts again after a search, and the way back from an account that does not exist', async () => {
    const page = await operator.show('/operator/accounts');
    await page.getByRole('searchbox', { name: 'Search by name or ID' }).fill('nothing like it');
    await page.getByText('No accounts match').waitFor();
    await page.getByRole('navigation').first().getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('link', { name: 'Acme Ltd' }).waitFor();
    await expectSoon(async () => expect(await page.getByRole('searchbox', { name: 'Search by name or ID' }).inputValue()).toBe(''));
    await page.goto(`console/operator/accounts/${accountId.slice(0, -8)}00000000`);
    await page.getByRole('alert').getByText('Not found').waitFor();
    expect(await page.title()).toContain(accountId.slice(0, -8));
    await page.locator('main').getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('link', { name: 'Acme Ltd' }).waitFor();
  });

  it('finds and opens an account while the ledger is unavailable, and sees why there is no balance', async () => {
    const page = await operator.show('/operator/accounts');
    const back = suspendLedger(system);
    try {
      await page.getByRole('searchbox', { name: 'Search by name or ID' }).fill('acme');
      await page.getByText('The ledger is unavailable').waitFor();
      const row = page.getByRole('row', { name: /Acme Ltd/ });
      await expectSoon(async () => expect(await row.innerText()).toMatch(/–[^]*–[^]*1/));
      await expectSoon(async () => expect(await row.innerText()).not.toContain('$'));
      await settledPage(page);
      expect(await accessibilityFaults(page)).toEqual([]);
      await row.getByRole('link', { name: 'Acme Ltd' }).click();
      await page.getByRole('heading', { level: 1, name: 'Acme Ltd' }).waitFor();
      await page.getByText('The ledger is unavailable').waitFor();
      await expectSoon(async () => expect(await available(page)).toBe('–'));
      await page.goBack();
      await page.getByText('The ledger is unavailable').waitFor();
    } finally {
      back();
    }
    // The page also retries by itself, and may have been faster.
    await page
      .getByRole('button', { name: 'Try again' })
      .click({ timeout: 3000 })
      .catch(() => undefined);
    await page.getByRole('row', { name: /Acme Ltd[^]*\$250\.50/ }).waitFor();
    await expectSoon(async () => expect(await page.getByText('The ledger is unavailable').count()).toBe(0));
  });

  it('sees that a debit would make the balance negative, and reverses an entry once', async () => {
    const page = await operator.show(`/operator/accounts/${accountId}`);
    await page.getByRole('button', { name: 'Debit' }).click();
    const form = popup(page);
    await form.getByLabel('Amount in USD').fill('250.500000001');
    await form.getByLabel('Confirm amount').fill('250.500000001');
    await form.getByLabel('Reason').fill('too much');
    await form.getByRole('button', { name: 'Debit' }).click();
    await form.getByRole('alert').waitFor();
    await expectSoon(async () => expect(await form.getByRole('alert').innerText()).toMatch(/250\.5/));
    await form.getByRole('button', { name: 'Cancel' }).click();

    await page.getByRole('button', { name: 'Actions for entry 1', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Reverse' }).click();
    await popup(page).getByLabel('Confirm amount').fill('250.5');
    await popup(page).getByLabel('Reason').fill('entered for the wrong account');
    await popup(page).getByRole('button', { name: 'Reverse' }).click();
    await popup(page).waitFor({ state: 'detached' });
    await eventually(async () => ((await available(page)) === '$0.00' ? true : undefined));
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Actions for entry 1', exact: true }).count()).toBe(0));
    await page.getByText('entered for the wrong account · corrects entry 1', { exact: true }).waitFor();
    await system.cli('balance', 'deposit', '5', '--account', accountId, '--reason', 'cash');
    // The page updates without a reload.
    await eventually(async () => ((await available(page)) === '$5.00' ? true : undefined));
    expect((await system.json<{ ok: boolean }>('ledger', 'verify')).ok).toBe(true);
  });

  it('sees the budgets of the account, suspends it, so that its key is refused with the reason, and resumes it', async () => {
    const { id: project } = await system.json<{ id: string }>('project', 'create', 'Search', '--account', accountId, '--budget', 'day:7');
    await system.cli('account', 'update', accountId, '--budget', 'month:70');
    const page = await operator.show(`/operator/accounts/${accountId}`);
    // The budgets of the account, and those of its projects.
    await page.getByText('$0.00 of $70.00 spent').waitFor();
    await page.getByText('$0.00 of $7.00 spent').waitFor();
    await expectSoon(async () =>
      expect(await page.getByRole('link', { name: 'Search' }).getAttribute('href')).toContain(`/accounts/${accountId}/projects/${project}`),
    );
    expect((await chat(system, secret)).status).toBe(200);
    await page.getByRole('button', { name: 'Suspend' }).click();
    await popup(page).getByLabel('Reason').fill('invoice 8 is unpaid');
    await popup(page).getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Suspended: invoice 8 is unpaid').waitFor();
    const refusal = await eventually(async () => {
      const response = await chat(system, secret);
      return response.status === 403 ? await response.text() : undefined;
    }, 1000);
    expect(refusal).toContain('invoice 8 is unpaid');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Resume' }).click();
    await popup(page).getByRole('button', { name: 'Resume' }).click();
    await eventually(async () => ((await chat(system, secret)).status === 200 ? true : undefined));
  });

  it('adds a user, whose link works once', async () => {
    const page = await operator.show('/operator/users');
    await page.getByRole('button', { name: 'Add user' }).click();
    await popup(page).getByLabel('Email address').fill('new@example.com');
    await popup(page).getByRole('button', { name: 'Add user' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign-in link' });
    const url = await dialog.locator('code').innerText();
    expect(url).toMatch(/\/console\/link#[\w-]{43}$/);
    await page.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(true);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const newcomer = await newPerson(chromium, system.baseUrl);
    const theirs = await newcomer.open(`/link${new URL(url).hash}`);
    await theirs.getByRole('button', { name: 'Sign in' }).click();
    await eventually(async () => (theirs.url().includes('/link') ? undefined : true));
    await newcomer.close();
    await page.getByRole('button', { name: 'Actions for new@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Make operator' }).click();
    await popup(page).getByRole('button', { name: 'Make operator' }).click();
    await page
      .getByRole('row', { name: /new@example\.com/ })
      .getByText('Operator', { exact: true })
      .waitFor();
    await page.getByRole('button', { name: 'Actions for new@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Remove operator rights' }).click();
    await popup(page).getByRole('button', { name: 'Remove operator rights' }).click();
    await eventually(async () =>
      (await page
        .getByRole('row', { name: /new@example\.com/ })
        .getByText('Operator', { exact: true })
        .count()) === 0
        ? true
        : undefined,
    );
  });

  it('sees in the audit log who did what, with values before and after, and that the log is intact', async () => {
    const page = await operator.show(`/operator/audit?account=${accountId}`);
    const rows = page.getByRole('table', { name: 'Audit log' }).getByRole('row');
    await rows.nth(1).waitFor();
    const texts = await rows.allInnerTexts();
    expect(texts.find((text) => text.includes('account.suspend'))).toMatch(
      /operator@example\.com[^]*Reason: invoice 8 is unpaid[^]*State: active → suspended/,
    );
    expect(texts.find((text) => text.includes('account.reverse'))).toContain('entered for the wrong account');
    // Chinese has no spaces, and a date is one word nevertheless.
    expect(
      await rows
        .nth(1)
        .locator('time')
        .first()
        .evaluate((time) => getComputedStyle(time).wordBreak),
    ).toBe('keep-all');
    expect(texts.filter((text) => text.includes('operator CLI')).length).toBeGreaterThanOrEqual(3);
    await page.getByLabel('Action').fill('account.suspend');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await eventually(async () => ((await rows.count()) === 2 ? true : undefined));
    expect(page.url()).toContain('action=account.suspend');
    await page.getByRole('button', { name: 'Verify log' }).click();
    await page.getByText(/Log verified: \d+ entries/).waitFor();
    await page.getByRole('button', { name: 'Copy', exact: true }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export CSV' }).click()]);
    expect(download.suggestedFilename()).toBe('audit.csv');
    // The last day is part of the range.
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    await page.getByLabel('From (UTC)').fill(yesterday);
    await page.getByLabel('Until (UTC)').fill(new Date().toISOString().slice(0, 10));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.waitForURL(/until=/);
    await eventually(async () => ((await rows.count()) === 2 ? true : undefined));
    await page.getByLabel('Until (UTC)').fill(yesterday);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('No entries match').waitFor();
  });

  it('sees the state of the system, and verifies the ledger', async () => {
    const page = await operator.show('/operator/health');
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByText('Ledger verified').waitFor();
    await expectSoon(async () =>
      expect(await fact(page, 'Mode').innerText()).toContain(mode === 'single' ? 'Single process' : 'One process per service'),
    );
    const services = page.getByRole('table', { name: 'Services' });
    for (const name of ['auth', 'catalog', 'ledger', 'metering', 'inference']) {
      await expectSoon(async () =>
        expect(await services.getByRole('row', { name: new RegExp(`^${name}`) }).innerText()).toMatch(
          mode === 'single' ? /Available[^]*SQLite 3\./ : /Available[^]*MariaDB 1/,
        ),
      );
    }
    const sandbox = page.getByRole('table', { name: 'Upstreams' }).getByRole('row', { name: /^sandbox/ });
    await sandbox.getByText('None').waitFor();
    await system.cli('upstream', 'drain', 'sandbox', 'stall');
    await sandbox.getByText(/^1 of \d+$/).waitFor();
    await system.cli('upstream', 'return', 'sandbox', 'stall');
    const address = ['--base-url', 'http://127.0.0.1:9/v1', '--allow-private-network'];
    await system.cli('upstream', 'add', 'unreachable', '--format', 'chat-completions', '--no-secret', ...address);
    await system.tryCli('upstream', 'test', 'unreachable');
    await page
      .getByRole('row', { name: /^unreachable/ })
      .getByText('Failed', { exact: true })
      .waitFor();
    // A busy button is paler for a moment, which is not an accessibility fault.
    await page.locator('button:enabled', { hasText: 'Verify now' }).waitFor();
    await settledPage(page);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('credits an account once when the response was lost and the amount is then edited', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Lost Ltd');
    const page = await operator.open(`/operator/accounts/${id}`);
    let lost = 0;
    await page.route('**/credits', async (route) => {
      lost += 1;
      if (lost > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await page.getByRole('button', { name: 'Credit' }).click();
    const form = popup(page);
    await form.getByLabel('Amount in USD').fill('7');
    await form.getByLabel('Reason').fill('invoice 9');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.getByRole('alert').getByText('may have been carried out').waitFor();
    // The journal behind the form shows the entry.
    await page.locator('table', { hasText: 'invoice 9' }).waitFor({ state: 'attached' });
    await form.getByLabel('Amount in USD').fill('8');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.getByRole('alert').getByText('already used').waitFor();
    await form.getByLabel('Amount in USD').fill('7');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await system.json('balance', 'show', '--account', id)).toMatchObject({ credited_usd: '7' });
    // A new form is a new entry.
    await page.getByRole('button', { name: 'Credit' }).click();
    await form.getByLabel('Amount in USD').fill('8');
    await form.getByLabel('Reason').fill('invoice 10');
    await form.getByRole('button', { name: 'Credit' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await system.json('balance', 'show', '--account', id)).toMatchObject({ credited_usd: '15' });
  });
});
