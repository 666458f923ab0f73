// The Billing pages in the browser: figures equal the ledger's, codes credit, lines link to records, and receipts print.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { usdText } from '../../console/src/format/money.js';
import { chat, settled } from '../support/clients/calls.js';
import { expectSoon, newMember, type Page, type Person, pressTwice, settledPage, startChromium } from '../support/clients/chromium.js';
import { addMember, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';
import { holdCalls } from './past-calls.js';
import { type SampleAccount, createSampleAccount } from './sample-account.js';

interface BalanceFigures {
  available_usd: string;
  held_usd: string;
  spent_usd: string;
  credited_usd: string;
}

interface StatementFigures {
  month: string;
  opening_usd: string;
  deposits_usd: string;
  charges_usd: string;
  closing_usd: string;
  lines: number;
}

/** Counts the time formats that a page creates in the next `ms` milliseconds. */
const formatsCreated = (page: Page, ms: number): Promise<number> =>
  page.evaluate(async (duration) => {
    let count = 0;
    const { DateTimeFormat } = Intl;
    Intl.DateTimeFormat = new Proxy(DateTimeFormat, {
      construct(target, options) {
        count += 1;
        return Reflect.construct(target, options) as Intl.DateTimeFormat;
      },
    });
    await new Promise((resolve) => setTimeout(resolve, duration));
    Intl.DateTimeFormat = DateTimeFormat;
    return count;
  }, ms);

describe.each(browserModes)('the Billing pages, %s', (mode) => {
  let system: System;
  let chromium: Browser;
  let sample: SampleAccount;
  let owner: Person;

  beforeAll(async () => {
    system = await startSystem(mode);
    [chromium, sample] = await Promise.all([startChromium(), createSampleAccount(system)]);
    owner = await newMember(chromium, system, sample.owner);
  });

  afterAll(async () => {
    expect(owner?.faults ?? []).toEqual([]);
    await owner?.close();
    await chromium?.close();
    await system?.stop();
  });

  const open = (page: string): Promise<Page> => owner.open(`/accounts/${sample.accountId}${page}`);
  const ofAccount = ['--account', ''] as string[];
  const commandJson = <T>(...command: string[]): Promise<T> => system.json<T>(...command, ...ofAccount.with(1, sample.accountId));
  const commandLines = async <T>(...command: string[]): Promise<T[]> =>
    (await system.cli(...command, '--account', sample.accountId, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as T);

  /** Returns the figure below a name at the top of the page. */
  const figure = (page: Page, name: string): Promise<string> =>
    page
      .locator('main dl', { hasText: name })
      .filter({ has: page.getByText(name, { exact: true }) })
      .locator('dd')
      .first()
      .innerText();
  /** Returns the cells of a table, row by row. */
  const cells = (page: Page, caption: string): Promise<string[][]> =>
    page
      .getByRole('table', { name: caption })
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => (cell as HTMLElement).innerText.trim())));

  it('show the ledger’s figures and keep them up to date', async () => {
    const page = await open('/billing');
    await settledPage(page);
    const same = async (): Promise<boolean> => {
      const balance = await commandJson<BalanceFigures>('balance', 'show');
      const shown = [await figure(page, 'Available'), await figure(page, 'Held')];
      return shown[0] === usdText(balance.available_usd) && shown[1] === usdText(balance.held_usd);
    };
    expect(await same()).toBe(true);
    const [month] = await commandLines<StatementFigures>('statement', 'list');
    const [row] = await cells(page, 'Statements by month');
    expect(row!.slice(1, 3).concat(row!.slice(4, 5), row!.slice(6, 7))).toEqual(
      [month!.opening_usd, month!.deposits_usd, month!.charges_usd, month!.closing_usd].map(usdText),
    );
    await expectSoon(async () => expect(await figure(page, 'Settled')).toBe(usdText(month!.closing_usd)));
    // Without a reload.
    await (await chat(system, sample.secret)).text();
    await system.cli('balance', 'deposit', '3', '--account', sample.accountId);
    await settled(system, sample.accountId);
    await eventually(async () => ((await same()) && (await cells(page, 'Deposits and receipts')).length === 2 ? true : undefined));
    const [later] = await commandLines<StatementFigures>('statement', 'list');
    await eventually(async () => ((await cells(page, 'Statements by month'))[0]![6] === usdText(later!.closing_usd) ? true : undefined));
    await page.close();
  });

  it('show what a call in flight holds, and that it is released', async () => {
    const page = await open('/billing');
    await page.getByText('No call is in flight').waitFor();
    const leaving = new AbortController();
    const call = chat(
      system,
      sample.secret,
      { model: 'sandbox/story', stream: true, messages: [{ role: 'user', content: 'delay=100ms tokens=600' }] },
      { signal: leaving.signal },
    );
    await page.getByRole('table', { name: 'Held for calls in flight' }).waitFor();
    const [hold] = await commandLines<{ id: string; amount_usd: string }>('balance', 'holds');
    const [row] = await cells(page, 'Held for calls in flight');
    expect([row![0], row![1], row![5]]).toEqual([hold!.id, 'production server', usdText(hold!.amount_usd)]);
    await eventually(async () => ((await figure(page, 'Held')) === usdText(hold!.amount_usd) ? true : undefined));
    expect((await call).status).toBe(200);
    leaving.abort();
    await page.getByText('No call is in flight').waitFor();
    await eventually(async () => ((await figure(page, 'Held')) === '$0.00' ? true : undefined));
    await page.close();
  });

  it('list all holds, page by page', async () => {
    const release = await holdCalls(system, sample, 203);
    const page = await open('/billing');
    try {
      const rows = page.getByRole('table', { name: 'Held for calls in flight' }).locator('tbody tr');
      await expectSoon(async () => expect(await rows.count()).toBe(200));
      // The rows are rendered every second. If each created formats of its own, a page on a slow machine would be too busy for a click.
      expect(await formatsCreated(page, 3000)).toBeLessThan(200);
      await page.getByRole('button', { name: 'Load more' }).click();
      await expectSoon(async () => expect(await rows.count()).toBe(203));
    } finally {
      await release();
    }
    await page.reload();
    await page.getByText('No call is in flight').waitFor();
    await page.close();
  });

  it('link a month to its lines, and a charge to its record', async () => {
    const page = await open('/billing');
    const [month] = await commandLines<StatementFigures>('statement', 'list');
    await page.getByRole('table', { name: 'Statements by month' }).getByRole('link').first().click();
    await page.waitForURL(new RegExp(`/billing/statements/${month!.month}$`));
    await page.getByRole('table', { name: 'Lines' }).waitFor();
    const lines = await commandLines<{
      amount_usd: string;
      kind: string;
      reference: string;
      credited_after_nano_usd: string;
      spent_after_nano_usd: string;
    }>('statement', 'lines', month!.month);
    const shown = await cells(page, 'Lines');
    expect(shown).toHaveLength(lines.length);
    expect(shown.map((row) => row[1]!.toLowerCase())).toEqual(lines.toReversed().map(({ kind }) => kind));
    expect(shown.map((row) => row[4]!.replace(/^[+−]/, ''))).toEqual(lines.toReversed().map(({ amount_usd }) => usdText(amount_usd)));
    await page.getByText('Charge', { exact: true }).first().click();
    await page.waitForURL(/\?kind=charge$/);
    await eventually(async () => ((await cells(page, 'Lines')).every((row) => row[1] === 'Charge') ? true : undefined));
    const charges = lines.filter(({ kind }) => kind === 'charge').toReversed();
    await page.getByRole('link', { name: `req_…${charges[0]!.reference.slice(-8)}` }).click();
    await page.waitForURL(new RegExp(`/usage/records/${charges[0]!.reference}$`));
    await page.close();
  });

  it('export a month as a file', async () => {
    const page = await open('/billing');
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-statement-'));
    try {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page
          .getByRole('link', { name: /^CSV for / })
          .first()
          .click(),
      ]);
      const path = join(folder, download.suggestedFilename());
      await download.saveAs(path);
      const [month] = await commandLines<StatementFigures>('statement', 'list');
      const rows = readFileSync(path, 'utf8').trimEnd().split('\r\n');
      expect(download.suggestedFilename()).toBe(`statement-${month!.month}.csv`);
      expect(rows).toHaveLength(month!.lines + 3);
      expect(rows.at(-1)!.split(',')[4]).toBe(month!.closing_usd);
    } finally {
      rmSync(folder, { recursive: true });
    }
    await page.close();
  });

  it('show a payment refund as a line and on the receipt of its deposit, and operators can reverse it', async () => {
    interface Posted {
      entry: { id: string; seq: string };
    }
    const { entry: deposit } = await commandJson<Posted>('balance', 'deposit', '5');
    const about = ['--reason', 'refund re_1', '--entry', deposit.id, '--payment-refund'];
    const { entry: refund } = await commandJson<Posted>('balance', 'adjust', '-2', ...about);
    const [month] = await commandLines<StatementFigures>('statement', 'list');
    const page = await open(`/billing/statements/${month!.month}`);
    await page.getByRole('table', { name: 'Lines' }).waitFor();
    const [line] = await cells(page, 'Lines');
    expect([line![1], line![2], line![4]]).toEqual(['Payment refund', `refund re_1 · corrects no. ${deposit.seq}`, '−$2.00']);
    expect(await page.locator('main').innerText()).toMatch(/Deposits less payment refunds\s+\+\$\d/);
    await page.close();
    const receipt = await open(`/billing/receipts/${deposit.id}`);
    await receipt.getByText(`Payment refund no. ${refund.seq} on `).waitFor();
    await receipt.close();

    const operator = await owner.open(`/operator/accounts/${sample.accountId}`);
    await operator.getByRole('button', { name: `Actions for entry ${refund.seq}`, exact: true }).click();
    await operator.getByRole('menuitem', { name: 'Reverse' }).click();
    await operator.getByLabel('Reason').fill('refund re_1 failed');
    await operator.getByRole('dialog').getByRole('button', { name: 'Reverse' }).click();
    await operator.getByText('Payment refund reversal').waitFor();
    await operator.close();
    const [later] = await commandLines<StatementFigures>('statement', 'list');
    expect(Number(later!.deposits_usd)).toBeCloseTo(Number(month!.deposits_usd) + 2, 9);
  });

  it('credit a code created by the operator once, and print its receipt', async () => {
    const operator = await owner.open('/operator/codes');
    await operator.getByRole('button', { name: 'Create codes' }).first().click();
    await operator.getByLabel('Value in USD').fill('0');
    await operator.getByRole('dialog').getByRole('button', { name: 'Create codes' }).click();
    await operator.getByText('must be above 0').waitFor();
    // A high total value has to be confirmed by entering it again.
    await operator.getByLabel('Value in USD').fill('50.5');
    await operator.getByLabel('Number of codes').fill('2');
    await operator.getByText('$101.00 in total').waitFor();
    await operator.getByLabel('Confirm total value').fill('50.5');
    await operator.getByRole('dialog').getByRole('button', { name: 'Create codes' }).click();
    await operator.getByText('must equal the amount, $101').waitFor();
    await operator.getByLabel('Number of codes').fill('1');
    await expectSoon(async () => expect(await operator.getByLabel('Confirm total value').count()).toBe(0));
    await operator.getByLabel('Value in USD').fill('1.5');
    await operator.getByLabel('Note').fill('conference');
    await operator.getByRole('dialog').getByRole('button', { name: 'Create codes' }).click();
    const code = await operator.getByRole('dialog').locator('pre').innerText();
    expect(code).toMatch(/^TGC(-[0-9A-Z]{5}){4}$/);
    // The dialog does not close by accident.
    await operator.keyboard.press('Escape');
    await operator.goBack();
    expect(await operator.getByRole('dialog').locator('pre').innerText()).toBe(code);
    await operator.getByRole('button', { name: 'I have saved them' }).click();
    await operator.getByRole('rowheader', { name: `…${code.slice(-4)}` }).waitFor();
    expect(await operator.content()).not.toContain(code);

    const before = await commandJson<BalanceFigures>('balance', 'show');
    const page = await open('/billing');
    await page.getByLabel('Code').fill('TGC-00000-00000-00000-00000');
    await page.keyboard.press('Enter');
    await page
      .getByText('The code does not exist, has already been used, or is no longer valid. Check that you entered all of it.')
      .waitFor();
    await page.getByLabel('Code').fill(code.toLowerCase());
    await page.keyboard.press('Enter');
    await page.getByText('$1.50 was added to the balance.').waitFor();
    await page.getByLabel('Code').fill(code);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByText('Nothing was added.').waitFor();
    const after = await commandJson<BalanceFigures & { credited_nano_usd: string }>('balance', 'show');
    expect(BigInt(after.credited_nano_usd)).toBe(BigInt((before as typeof after).credited_nano_usd) + 1_500_000_000n);
    await eventually(async () => ((await figure(page, 'Available')) === usdText(after.available_usd) ? true : undefined));

    await page.getByRole('link', { name: 'Show the receipt' }).click();
    await page.getByRole('heading', { level: 1, name: /^Receipt R-/ }).waitFor();
    const receipt = await page.locator('main').innerText();
    for (const text of ['Acme Robotics', '$1.50', 'Promotional credit', `redemption code ending in ${code.slice(-4)}`])
      expect(receipt).toContain(text);
    // The print has only the receipt, in the full width of the paper.
    await page.evaluate(() => Object.assign(window, { print: () => Object.assign(window, { printed: true }) }));
    await page.getByRole('button', { name: 'Print' }).click();
    expect(await page.evaluate(() => 'printed' in window)).toBe(true);
    await page.emulateMedia({ media: 'print' });
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false));
    await expectSoon(async () => expect(await page.getByRole('navigation').first().isVisible()).toBe(false));
    expect((await page.locator('main').boundingBox())!.width).toBeGreaterThan(900);
    await page.close();
    await operator.reload();
    await operator.getByText('Redeemed', { exact: true }).last().waitFor();
    await operator.close();
  });

  it('name the time zone of the lines of a month in UTC', async () => {
    const [month] = await commandLines<StatementFigures>('statement', 'list');
    const person = await newMember(chromium, system, sample.owner, { timeZone: 'Asia/Tokyo' });
    const page = await person.open(`/accounts/${sample.accountId}/billing/statements/${month!.month}`);
    await page.getByText('Times are in Asia/Tokyo.').waitFor();
    await person.close();
  });

  it('name a key that is not among the newest 200', async () => {
    const api = await signedIn(system, sample.owner.email);
    for (let index = 0; index < 200; index += 1)
      await api.must('POST', `/accounts/${sample.accountId}/keys`, { name: `newer ${index}` }, 201);
    const [month] = await commandLines<StatementFigures>('statement', 'list');
    const page = await open(`/billing/statements/${month!.month}`);
    await page.getByRole('table', { name: 'Lines' }).getByRole('link', { name: 'production server' }).first().waitFor();
    await page.close();
  });

  it('void a code', async () => {
    const [code] = (await system.cli('code', 'create', '2', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { last_four: string; id: string });
    const page = await owner.open('/operator/codes?state=open');
    await page.getByRole('button', { name: `Actions for the code …${code!.last_four}` }).click();
    await page.getByRole('menuitem', { name: 'Void', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Void' }).click();
    await page.getByText('Code voided').waitFor();
    await page.getByText('No codes are in this state.').waitFor();
    const codes = (await system.cli('code', 'list', '--state', 'void', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string });
    expect(codes.map(({ id }) => id)).toEqual([code!.id]);
    await page.close();
  });

  it('create codes that expire at the end of a day in the zone of the page', async () => {
    const person = await newMember(chromium, system, sample.owner, { timeZone: 'Asia/Tokyo' });
    const page = await person.open('/operator/codes');
    for (const [zone, shown] of [
      [/^Local/, 'The end of the day in UTC+09:00.'],
      ['UTC', 'The end of the day in UTC.'],
    ] as const) {
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('dialog').getByRole('radio', { name: zone, exact: true }).check();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Create codes' }).first().click();
      await page.getByText(shown).waitFor();
      await page.getByLabel('Value in USD').fill('1');
      await page.getByLabel('Valid until').fill('2099-12-31');
      await page.getByRole('dialog').getByRole('button', { name: 'Create codes' }).click();
      await page.getByRole('button', { name: 'I have saved them' }).click();
      await page.getByRole('row').nth(1).getByText('Dec 31, 2099, 23:59').waitFor();
    }
    await person.close();
  });

  it('create codes once, however fast the button is pressed', async () => {
    const person = await newMember(chromium, system, sample.owner);
    const page = await person.open('/operator/codes');
    let batches = 0;
    page.on('request', (request) => (batches += request.method() === 'POST' && request.url().endsWith('/codes') ? 1 : 0));
    await page.getByRole('button', { name: 'Create codes' }).first().click();
    await page.getByLabel('Value in USD').fill('1');
    await pressTwice(page.getByRole('dialog').getByRole('button', { name: 'Create codes' }));
    await page.getByRole('button', { name: 'I have saved them' }).click();
    expect(batches).toBe(1);
    await person.close();
  });

  it('show figures to every role, but the redeem form only to roles that may use it', async () => {
    await addMember(system, sample.accountId, 'viewer@example.com', 'viewer');
    const viewer = await newMember(chromium, system, { email: 'viewer@example.com', password: sample.owner.password });
    const page = await viewer.open(`/accounts/${sample.accountId}/billing`);
    await settledPage(page);
    const { available_usd } = await commandJson<BalanceFigures>('balance', 'show');
    await expectSoon(async () => expect(await figure(page, 'Available')).toBe(usdText(available_usd)));
    await expectSoon(async () => expect(await page.getByLabel('Code').count()).toBe(0));
    await viewer.close();
  });
});
