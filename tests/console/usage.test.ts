// Usage in the console: figures equal the API's and the ledger's, filters are in the address, days are in the user's time zone, new calls
// appear automatically, and exports equal the list.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium, Locator, Route } from 'playwright-core';
import { nanoUsdOf, usdText } from '../../console/src/format/money.js';
import { chat, settled, type UsageRow } from '../support/clients/calls.js';
import {
  accessibilityFaults,
  expectSoon,
  newMember,
  type Page,
  settledPage,
  sidewaysScroll,
  startChromium,
} from '../support/clients/chromium.js';
import { addMember, addUser, type Browser, password, signedIn } from '../support/clients/console.js';
import { type OtlpReceiver, startOtlpReceiver } from '../support/vendors/otlp.js';
import { eventually } from '../support/systems/process.js';
import { addModel, addUpstream } from '../support/stub-models.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, stubApiKey } from '../upstream/stub-upstream.js';
import { recordPastCalls } from './past-calls.js';

const owner = { email: 'owner@example.com', password };
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

interface Total {
  readonly name: string | null;
  readonly calls: number;
  readonly errors: number;
  readonly charge_usd: string;
}

interface Record_ {
  readonly request_id: string;
  readonly model: string;
  readonly charge_usd: string;
  readonly started_at: string;
}

/** Returns the exact sum of a column of figures in USD. */
const sumOf = (texts: readonly string[]): bigint => texts.reduce((sum, text) => sum + amountOf(text), 0n);
const amountOf = (text: string): bigint => nanoUsdOf(/[\d,]+\.\d+/.exec(text)![0].replaceAll(',', ''));

describe.each(browserModes)('usage in the console, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let api: Browser;
  let accountId: string;
  let account: string;
  const keys: { id: string; secret: string }[] = [];
  let rows: readonly UsageRow[];
  let receiver: OtlpReceiver;
  /** An account with a call in each hour around the end of summer time in New York, 2026-11-01T06:00Z. */
  let past: string;
  const pastCalls = Array.from({ length: 72 }, (_, index) => Date.parse('2026-10-30T20:10Z') + index * 3_600_000);

  async function call(secret: string, model: string, headers: Record<string, string> = {}): Promise<string> {
    const response = await chat(system, secret, { model, messages: [{ role: 'user', content: 'Hello there, how are you?' }] }, { headers });
    await response.text();
    return response.headers.get('x-request-id')!;
  }

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    system = await startSystem(mode, {
      ...receiver.env,
      TOLLGATE_GATEWAY_TRACE_URL: 'https://traces.example.com/t/{trace_id}?from=console',
    });
    chromium = await startChromium();
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    account = `/accounts/${accountId}`;
    await system.cli('balance', 'deposit', '25', '--account', accountId, '--reason', 'invoice 1');
    await addMember(system, accountId, owner.email, 'owner', '--name', 'Olga');
    api = await signedIn(system, owner.email);
    for (const name of ['server', 'laptop']) {
      const { key, secret } = await api.must<{ key: { id: string }; secret: string }>('POST', `${account}/keys`, { name }, 201);
      keys.push({ id: key.id, secret });
    }
    for (const model of ['sandbox/echo', 'sandbox/story', 'sandbox/echo', 'sandbox/fail-500', 'sandbox/reason'])
      await call(keys[0]!.secret, model);
    await call(keys[1]!.secret, 'sandbox/echo', { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, 'x-request-id': 'my own id' });
    ({ rows } = await settled(system, accountId, 6));

    const { id: pastId } = await system.json<{ id: string }>('account', 'create', 'Past');
    past = `/accounts/${pastId}`;
    await system.cli('balance', 'deposit', '5', '--account', pastId, '--reason', 'invoice 2');
    await system.cli('member', 'put', owner.email, '--role', 'owner', '--account', pastId);
    const { key } = await api.must<{ key: { id: string } }>('POST', `${past}/keys`, { name: 'old' }, 201);
    await recordPastCalls(system, { accountId: pastId, keyId: key.id }, pastCalls);
    await settled(system, pastId, pastCalls.length);
  }, 120_000);

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
    await receiver?.stop();
  });

  const tile = (page: Page, name: string): Locator =>
    page
      .locator('dl', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
      .locator('dd')
      .first();
  const groupsOf = (page: Page): Locator => page.getByRole('table', { name: /^By / }).getByRole('row');
  const rowsOf = (page: Page): Locator => page.getByRole('table', { name: 'Usage records' }).getByRole('row');
  const filterOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams);
  const chips = (page: Page): Promise<string[]> => page.getByRole('list', { name: 'Active filters' }).getByRole('listitem').allInnerTexts();

  /** Returns the table behind the chart, without its header. */
  async function chartRows(page: Page, name: string): Promise<string[][]> {
    await page.getByText('Show as a table').click();
    const texts = await page.getByRole('table', { name }).getByRole('row').allInnerTexts();
    return texts.slice(1).map((row) => row.split('\t').map((cell) => cell.trim()));
  }

  /** Waits until the list has this many calls; its first row is the header. */
  async function listed(page: Page, count: number): Promise<void> {
    await eventually(async () => ((await rowsOf(page).count()) === count + 1 ? true : undefined));
  }

  it('shows the API’s and the ledger’s totals to the last digit, each equal to the sum of its rows', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/usage`);
    const { spent_nano_usd: spent } = await system.json<{ spent_nano_usd: string }>('balance', 'show', '--account', accountId);
    const {
      data: [total],
    } = await api.get<{ data: [Total] }>(`${account}/usage/totals`);
    expect(nanoUsdOf(total.charge_usd)).toBe(BigInt(spent));
    await expectSoon(async () => expect(await tile(page, 'Spend').innerText()).toBe(usdText(total.charge_usd)));
    expect([await tile(page, 'Calls').innerText(), await tile(page, 'Errors').innerText()]).toEqual(['6', '1']);
    const inputTokens = rows.reduce((sum, row) => sum + row.input_tokens, 0);
    const outputTokens = rows.reduce((sum, row) => sum + row.output_tokens, 0);
    expect((await tile(page, 'Tokens').innerText()).replaceAll(',', '')).toBe(String(inputTokens + outputTokens));

    for (const group of ['Model', 'Key', 'Member', 'Outcome']) {
      await page.getByRole('radio', { name: group, exact: true }).check();
      await page.getByRole('columnheader', { name: group, exact: true }).first().waitFor();
      await page.locator('[aria-busy=false]').waitFor();
      const { data: groups } = await api.get<{ data: Total[] }>(`${account}/usage/totals?group_by=${group.toLowerCase()}`);
      const cells = (await groupsOf(page).allInnerTexts()).slice(1).map((row) => row.split('\t').map((cell) => cell.trim()));
      expect(cells.map(([, spend, , calls, errors]) => [spend, calls, errors])).toEqual(
        groups.map((each) => [usdText(each.charge_usd), String(each.calls), String(each.errors)]),
      );
      expect(sumOf(cells.map(([, spend]) => spend!))).toBe(BigInt(spent));
    }
    expect((await groupsOf(page).allInnerTexts()).join()).toContain('Upstream failed');
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it.each([
    ['Asia/Kolkata', 'UTC+05:30'],
    ['Pacific/Kiritimati', 'UTC+14:00'],
    ['Pacific/Pago_Pago', 'UTC−11:00'],
    ['America/New_York', 'UTC−04:00'],
    ['UTC', 'UTC'],
  ])('splits days in the time zone of %s, and their sum is the total', async (timeZone, name) => {
    const person = await newMember(chromium, system, owner, { timeZone });
    // Summer time ends in New York within this range.
    const page = await person.open(`${past}/usage?from=2026-10-20T00:00:00.000Z&until=2026-11-10T00:00:00.000Z&by=day`);
    const days = await chartRows(page, 'Spend by model and day');
    const dayOf = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone });
    const expected = new Map<string, bigint>();
    const { data: records } = await api.get<{ data: Record_[] }>(`${past}/usage/records?limit=200`);
    expect(records).toHaveLength(pastCalls.length);
    for (const record of records) {
      const day = dayOf.format(new Date(record.started_at));
      expected.set(day, (expected.get(day) ?? 0n) + nanoUsdOf(record.charge_usd));
    }
    const shown = new Map(days.map((cells) => [cells[0]!, amountOf(cells.at(-1)!)]));
    expect(shown.size).toBe(days.length);
    expect(new Map([...shown].filter(([, amount]) => amount > 0n))).toEqual(expected);
    expect(sumOf(days.map((cells) => cells.at(-1)!))).toBe(amountOf(await tile(page, 'Spend').innerText()));
    for (const cells of days) expect(sumOf(cells.slice(1, -1))).toBe(amountOf(cells.at(-1)!));
    await page.getByText(name, { exact: false }).filter({ hasText: 'Days and hours are in' }).waitFor();
    if (timeZone === 'America/New_York') await page.getByText(/UTC−04:00.*UTC−05:00.*from Nov 1, 2026, 01:00/).waitFor();
    await page.getByRole('radio', { name: 'UTC', exact: true }).check();
    await page.getByText('Days and hours are in UTC.').waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('distinguishes the two hours with the same name at the end of summer time', async () => {
    const person = await newMember(chromium, system, owner, { timeZone: 'America/New_York' });
    const page = await person.open(`${past}/usage?from=2026-11-01T04:00:00.000Z&until=2026-11-02T05:00:00.000Z&by=hour&measure=calls`);
    const hours = await chartRows(page, 'Calls by model and hour');
    expect(hours.map((cells) => cells.at(-1))).toEqual(Array.from({ length: 25 }, () => '1'));
    expect(hours.slice(0, 4).map(([hour]) => hour)).toEqual([
      'Nov 1, 00:00 GMT-4',
      'Nov 1, 01:00 GMT-4',
      'Nov 1, 01:00 GMT-5',
      'Nov 1, 02:00 GMT-5',
    ]);
    // The day, when chosen in the dialog, has all of its 25 hours.
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    expect([await page.getByLabel('First day').inputValue(), await page.getByLabel('Last day').inputValue()]).toEqual([
      '2026-11-01',
      '2026-11-01',
    ]);
    // A year that was typed with a digit too many.
    await page.getByLabel('First day').fill('20266-10-31');
    await page.getByRole('button', { name: 'Apply' }).click();
    expect(await page.getByLabel('First day').evaluate((field: HTMLInputElement) => field.validity.rangeOverflow)).toBe(true);
    await page.getByLabel('First day').fill('2026-10-31');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL(/from=2026-10-31T04/);
    expect(filterOf(page)).toMatchObject({ from: '2026-10-31T04:00:00.000Z', until: '2026-11-02T05:00:00.000Z' });
    await eventually(async () => ((await tile(page, 'Calls').innerText()) === '49' ? true : undefined));
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('fetches counts of refused calls by day with the offset of each side of the end of summer time', async () => {
    const person = await newMember(chromium, system, owner, { timeZone: 'America/New_York' });
    const page = await person.context.newPage();
    await page.clock.setFixedTime('2026-11-05T12:00:00Z');
    const asked: (string | null)[][] = [];
    await page.route('**/refusal-totals?*', async (route) => {
      const query = new URL(route.request().url()).searchParams;
      if (query.has('then_by')) asked.push(['tz_offset', 'from', 'until'].map((name) => query.get(name)));
      const name = query.get('group_by') === 'day' ? '2026-10-25' : 'overloaded';
      await route.fulfill({ json: { data: [{ name, then_name: 'overloaded', calls: 1 }] } });
    });
    await page.goto(`console${account}/usage/refusals?range=7d`);
    await eventually(() => Promise.resolve(asked.length > 0 ? true : undefined));
    await page.getByRole('table').first().waitFor();
    expect(asked.map(([offset]) => offset).toSorted()).toEqual(['-240', '-300']);
    // Seven calendar days with today, as on the usage pages.
    expect(asked.map(([, from]) => from).toSorted()).toEqual(['2026-10-30T04:00:00.000Z', '2026-11-01T06:00:00.000Z']);
    expect(asked.map(([, , until]) => until).toSorted()).toEqual(['2026-11-01T06:00:00.000Z', null]);
    asked.length = 0;
    await page.getByRole('radio', { name: 'UTC', exact: true }).check();
    await expectSoon(async () => expect(asked).toEqual([['0', '2026-10-30T00:00:00.000Z', null]]));
    await person.close();
  });

  it('distinguishes the first hour of a day of refused calls from the last one', async () => {
    const refused = await chat(system, keys[0]!.secret, { model: 'acme/unknown', messages: [{ role: 'user', content: 'Hello' }] });
    await refused.text();
    const refusal = `${account}/refusals?request_id=${refused.headers.get('x-request-id')}`;
    await eventually(async () => (await api.get<{ data: unknown[] }>(refusal)).data[0]);
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/usage/refusals?range=24h`);
    const hours = (await chartRows(page, 'Refused calls per hour, by reason')).map(([hour]) => hour);
    expect(hours.length).toBeGreaterThan(24);
    expect(new Set(hours).size).toBe(hours.length);
    // The columns that are cut get the room that the time does not need.
    const widthOf = async (column: string): Promise<number> =>
      (await page.getByRole('table', { name: 'Refused calls', exact: true }).getByRole('columnheader', { name: column }).boundingBox())!
        .width;
    const [time, details] = [await widthOf('Time'), await widthOf('Details')];
    expect(time).toBeLessThan(details / 1.5);
    await person.close();
  });

  it('loads further pages of records on request, each once', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${past}/usage/records`);
    await listed(page, 50);
    await page.getByRole('button', { name: 'Load more' }).click();
    await listed(page, pastCalls.length);
    const ids = await rowsOf(page)
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => /req_\w+/.exec((link as HTMLAnchorElement).href)![0]));
    const { data: records } = await api.get<{ data: Record_[] }>(`${past}/usage/records?limit=200`);
    expect(ids).toEqual(records.map(({ request_id: id }) => id));
    await page.getByText('All 72 shown.').waitFor();
    // A part of the histogram, dragged over, becomes the range.
    await page.evaluate(() => scrollTo(0, 0));
    const histogram = await page.getByRole('group', { name: /^Calls and errors over time/ }).boundingBox();
    await page.mouse.move(histogram!.x + histogram!.width * 0.2, histogram!.y + 20);
    await page.mouse.down();
    await page.mouse.move(histogram!.x + histogram!.width - 2, histogram!.y + 20, { steps: 3 });
    await page.mouse.up();
    await page.waitForURL(/from=.*until=/);
    await page.goto(`console${past}/usage/records`);
    await listed(page, 50);
    // Ordered by cost, by the API: the highest first.
    await page.getByRole('button', { name: 'Cost' }).click();
    await page.locator('th[aria-sort=descending]').waitFor();
    const dearest = (await api.get<{ data: Record_[] }>(`${past}/usage/records?sort=charge&limit=1`)).data[0]!;
    expect(nanoUsdOf(dearest.charge_usd)).toBe(records.map((each) => nanoUsdOf(each.charge_usd)).reduce((a, b) => (a > b ? a : b)));
    await rowsOf(page).nth(1).locator(`a[href*=${dearest.request_id}]`).waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('keeps a new call at the top that arrives while a further page is loading', async () => {
    const { id: busy } = await system.json<{ id: string }>('account', 'create', 'Busy');
    await system.cli('balance', 'deposit', '5', '--account', busy, '--reason', 'invoice 4');
    await system.cli('member', 'put', owner.email, '--role', 'owner', '--account', busy);
    const createKey = (name: string) => api.must<{ key: { id: string }; secret: string }>('POST', `/accounts/${busy}/keys`, { name }, 201);
    const old = await createKey('old');
    await recordPastCalls(system, { accountId: busy, keyId: old.key.id }, pastCalls);
    await settled(system, busy, pastCalls.length);
    const { key, secret } = await createKey('new');
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`/accounts/${busy}/usage/records`);
    await listed(page, 50);
    const held = new Promise<Route>((resolve) => void page.route('**/usage/records?*cursor=*', resolve, { times: 1 }));
    await page.getByRole('button', { name: 'Load more' }).click();
    const further = await held;
    const newest = page.waitForResponse(
      async (response) => response.url().includes('/usage/records?') && (await response.text()).includes(key.id),
    );
    const id = await call(secret, 'sandbox/echo');
    await newest;
    await page.waitForTimeout(500);
    await further.continue();
    await listed(page, pastCalls.length + 1);
    await rowsOf(page).nth(1).locator(`a[href*=${id}]`).waitFor();
    await person.close();
  });

  it('keeps filters in the address across reloads, the back button, and from the overview to the records', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/usage?range=30d`);
    const link = groupsOf(page).filter({ hasText: 'sandbox/echo' }).getByRole('link', { name: 'sandbox/echo' });
    await link.click();
    await page.waitForURL(/\/usage\/records\?/);
    expect(filterOf(page)).toEqual({ range: '30d', model: 'sandbox/echo' });
    await listed(page, 3);

    // While the dialog's file is loading, Escape closes it as well.
    const held = new Promise<Route>((resolve) => void page.route('**/assets/filter-dialog*.js', resolve, { times: 1 }));
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    const file = await held;
    await page.keyboard.press('Escape');
    const loaded = page.waitForResponse(/filter-dialog/);
    await file.continue();
    await (await loaded).finished();
    await settledPage(page);
    expect(await page.getByRole('dialog').count()).toBe(0);

    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await page.getByLabel('Key', { exact: true }).selectOption({ label: 'laptop' });
    await page.getByRole('button', { name: 'Apply' }).click();
    await listed(page, 1);
    await expectSoon(async () => expect(await chips(page)).toEqual(['Key: laptop', 'Model: sandbox/echo', 'Clear filters']));
    await page.reload();
    await listed(page, 1);
    expect(filterOf(page)).toEqual({ range: '30d', key: keys[1]!.id, model: 'sandbox/echo' });
    await page.goBack();
    await listed(page, 3);
    await page.goForward();
    await listed(page, 1);
    await page.getByRole('button', { name: 'Remove the filter Model: sandbox/echo' }).click();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.waitForURL(/\/usage\?/);
    expect(filterOf(page)).toEqual({ range: '30d', key: keys[1]!.id });
    await expectSoon(async () => expect(await tile(page, 'Calls').innerText()).toBe('1'));

    const failed = rows.find(({ outcome }) => outcome === 'upstream_error_before_output')!;
    await page.goto(`console${account}/usage/records`);
    await listed(page, rows.length);
    await page.keyboard.press('/');
    await page.keyboard.type('req_12\n');
    await page.getByText('Enter the complete id').waitFor();
    await page.getByRole('searchbox').fill(failed.id);
    await page.keyboard.press('Enter');
    await listed(page, 1);
    expect(filterOf(page)).toEqual({ request_id: failed.id });
    expect((await rowsOf(page).allInnerTexts())[1]).toContain('Failed');
    await page.goto(`console${account}/usage/records?request_id=${failed.id}&outcome=completed`);
    await page.getByText('No calls match these filters').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).last().click();
    await listed(page, rows.length);

    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const askedFor = (what: string, member: string): boolean =>
      asked.some((url) => url.includes(`/usage/${what}?`) && url.includes(`member=${member}`));
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await page.getByLabel('Member', { exact: true }).selectOption({ label: 'Keys created without a user' });
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('No calls match these filters').waitFor();
    // The histogram follows the filter too.
    expect(askedFor('totals', 'none')).toBe(true);
    await expectSoon(async () => expect(await chips(page)).toEqual(['Member: Keys created without a user']));
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await listed(page, rows.length);
    await page.goto(`console${account}/usage?group=member`);
    await page.getByRole('table', { name: 'Speed and reliability' }).waitFor();
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Member', { exact: true }).selectOption({ label: 'Olga' });
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Remove the filter Member: Olga' }).waitFor();
    expect(askedFor('performance', 'user_')).toBe(true);
    await groupsOf(page).getByRole('link', { name: 'Olga' }).click();
    await page.waitForURL(/\/usage\/records\?/);
    await listed(page, rows.length);
    await expectSoon(async () => expect(await chips(page)).toEqual(['Member: Olga']));
    await expectSoon(async () =>
      expect(await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href')).toContain('member=user_'),
    );
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('does not show the ids of keys while their names are loading', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.context.newPage();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/keys?limit=200', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`console${account}/usage?group=key`);
    await groupsOf(page).nth(1).getByRole('link', { name: '…', exact: true }).waitFor();
    release();
    await groupsOf(page).getByRole('link', { name: 'server', exact: true }).waitFor();
    await person.close();
  });

  it('says that the histogram over all records shows 90 days', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/usage/records?range=all`);
    await page.getByText('Chart: last 90 days').waitFor();
    const title = (await page.getByText('Chart: last 90 days').boundingBox())!;
    expect((await page.locator('figure span.absolute').first().boundingBox())!.y).toBeGreaterThanOrEqual(title.y + title.height);
    await page.getByRole('radio', { name: '24 h' }).check();
    await page.getByText('Chart: last 90 days').waitFor({ state: 'detached' });
    await page.getByRole('group', { name: /^Calls and errors over time/ }).waitFor();
    await person.close();
  });

  it('adds a new call at the top automatically, and requests each page once', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.context.newPage();
    const asked: string[] = [];
    page.on(
      'request',
      (request) => request.url().includes('/usage/records') && request.resourceType() === 'fetch' && asked.push(request.url()),
    );
    await page.goto(`console${account}/usage/records?model=sandbox%2Fecho`);
    await listed(page, 3);
    expect(asked).toHaveLength(1);
    const id = await call(keys[0]!.secret, 'sandbox/echo');
    await listed(page, 4);
    await expectSoon(async () => expect(await rowsOf(page).nth(1).getByRole('link').getAttribute('href')).toContain(id));
    await expectSoon(async () => expect(await page.getByRole('status').allInnerTexts()).toContain('1 new call'));

    await page.getByRole('button', { name: 'Live' }).click();
    const before = asked.length;
    await call(keys[0]!.secret, 'sandbox/echo');
    await page.waitForTimeout(3000);
    expect([asked.length, await rowsOf(page).count()]).toEqual([before, 5]);
    await page.getByRole('button', { name: 'Live' }).click();
    await listed(page, 5);
    ({ rows } = await settled(system, accountId, 8));
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('exports exactly what the filter shows', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/usage/records?range=7d&key=${keys[0]!.id}&outcome=completed`);
    const { data: records } = await api.get<{ data: Record_[] }>(`${account}/usage/records?key=${keys[0]!.id}&outcome=completed&limit=200`);
    await listed(page, records.length);
    const fileOf = async (name: string): Promise<string> => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name }).click()]);
      return readFileSync(await download.path(), 'utf8');
    };
    const lines = (await fileOf('Export JSONL'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record_);
    expect(lines).toEqual(records);
    const [head, ...csv] = (await fileOf('Export CSV'))
      .trim()
      .split('\r\n')
      .map((line) => line.split(','));
    const column = (name: string) => csv.map((cells) => cells[head!.indexOf(name)]);
    expect([column('request_id'), column('charge_usd')]).toEqual([
      records.map(({ request_id }) => request_id),
      records.map(({ charge_usd }) => charge_usd),
    ]);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('shows how a charge is calculated and what happened to the hold, as in the ledger', async () => {
    const person = await newMember(chromium, system, owner);
    const row = rows.find(({ model_id }) => model_id === 'sandbox/reason')!;
    const page = await person.open(`${account}/usage/records/${row.id}`);
    await page.getByRole('table', { name: 'The charge' }).getByRole('row').last().waitFor();
    const lines = (await page.getByRole('table', { name: 'The charge' }).getByRole('row').allInnerTexts())
      .slice(1)
      .map((each) => each.split('\t').map((cell) => cell.trim()));
    const total = amountOf(lines.pop()!.at(-1)!);
    expect(lines.map(([name]) => name)).toEqual(['Input', 'Output', 'Reasoning']);
    for (const [, tokens, price, amount] of lines) {
      const exact = BigInt(tokens!.replaceAll(',', '')) * amountOf(price!);
      expect(amountOf(amount!)).toBe((exact + 999_999n) / 1_000_000n);
    }
    expect(sumOf(lines.map((cells) => cells.at(-1)!))).toBe(total);
    expect(total).toBe(BigInt(row.charge_nano_usd));

    const steps = page.getByRole('listitem').filter({ hasText: /\$/ });
    await steps.filter({ hasText: 'Released' }).first().waitFor();
    const amounts = new Map((await steps.allInnerTexts()).map((text) => [text.split('\n')[0]!, amountOf(text)]));
    expect(amounts.get('Captured')).toBe(BigInt(row.captured_nano_usd!));
    expect(amounts.get('Held')! - amounts.get('Captured')!).toBe(amounts.get('Released'));
    const held = await api.get<{ amount_usd: string; captured_usd: string; state: string }>(`${account}/usage/records/${row.id}/hold`);
    expect([nanoUsdOf(held.amount_usd), nanoUsdOf(held.captured_usd), held.state]).toEqual([
      amounts.get('Held'),
      amounts.get('Captured'),
      'settled',
    ]);
    await expectSoon(async () =>
      expect(await page.getByRole('link', { name: 'What each outcome costs' }).getAttribute('href')).toBe(
        `${system.baseUrl}/docs/charging#the-outcomes`,
      ),
    );
    const model = await page.getByRole('main').getByRole('link', { name: 'sandbox/reason' }).getAttribute('href');
    expect((await fetch(model!, { headers: { accept: 'text/html' } })).status).toBe(200);

    await system.cli('balance', 'refund', row.id, '--amount', '0.000001', '--reason', 'the answer was cut');
    await page.reload();
    await page.getByText('Refunded', { exact: true }).waitFor();
    expect(amountOf(await steps.filter({ hasText: 'Refunded' }).innerText())).toBe(1000n);

    const traced = rows.find(({ trace_id }) => trace_id === traceId)!;
    await page.goto(`console${account}/usage/records/${traced.id}`);
    const trace = page.getByRole('link', { name: 'Open trace' });
    await expectSoon(async () => expect(await trace.getAttribute('href')).toBe(`https://traces.example.com/t/${traceId}?from=console`));
    await page.getByText('my own id').waitFor();

    const failed = rows.find(({ outcome }) => outcome === 'upstream_error_before_output')!;
    await page.goto(`console${account}/usage/records/${failed.id}`);
    await page.getByText('Nothing was charged.', { exact: false }).first().waitFor();
    // Every user sees the attempts; only operators see their upstreams.
    const tried = page.getByRole('list', { name: 'Upstream attempts' });
    await expectSoon(async () => expect(await tried.getByRole('listitem').count()).toBe(1));
    await expectSoon(async () => expect(await tried.innerText()).toContain('upstream_failed'));
    await expectSoon(async () => expect(await tried.innerText()).not.toContain('sandbox'));
    await page.goto(`console${account}/usage/records/req_${'0'.repeat(32)}`);
    await page.getByRole('alert').waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('lists the attempts of a call as in the API, with their upstreams for operators, also on a phone and in Chinese', async () => {
    const stub = await startStubUpstream();
    const { id } = await system.json<{ id: string }>('account', 'create', 'Attempts');
    await system.cli('balance', 'deposit', '5', '--account', id, '--reason', 'invoice 3');
    const operator = { email: 'operator@example.com', password: owner.password };
    await addUser(system, operator.email, operator.password, '--name', 'Oscar', '--operator');
    for (const { email } of [owner, operator]) await system.cli('member', 'put', email, '--role', 'owner', '--account', id);
    await addUpstream(system, 'vendor', 'chat-completions', stub.baseUrl, stubApiKey);
    await addModel(system, 'test/second', '', '', {
      targets: [
        { upstream_id: 'vendor', upstream_model: 'status-503' },
        { upstream_id: 'vendor', upstream_model: 'text' },
      ],
    });
    const { secret } = await api.must<{ secret: string }>('POST', `/accounts/${id}/keys`, { name: 'third' }, 201);
    const requestId = await eventually(async () => {
      const response = await chat(system, secret, { model: 'test/second' });
      await response.text();
      return response.ok ? response.headers.get('x-request-id')! : undefined;
    });
    const path = `/accounts/${id}/usage/records/${requestId}`;
    const { attempts, started_at: startedAt } = await api.get<{
      attempts: { started_at: string; duration_ms: number }[];
      started_at: string;
    }>(path);
    const times = attempts.map(({ started_at, duration_ms: took }) =>
      [Date.parse(started_at) - Date.parse(startedAt), took].map((ms) => `${ms} ms`),
    );

    const member = await newMember(chromium, system, owner);
    const page = await member.open(path);
    const rows = page.getByRole('list', { name: 'Upstream attempts' }).getByRole('listitem');
    await rows.first().waitFor();
    const texts = (await rows.allInnerTexts()).map((text) => text.split('\n').filter((line) => line.trim() !== ''));
    expect(texts).toEqual([
      ['Failed', `Started after ${times[0]![0]}, took ${times[0]![1]}`, 'Reason: upstream_overloaded'],
      ['Responded', `Started after ${times[1]![0]}, took ${times[1]![1]}`],
    ]);
    const why = await page.getByRole('link', { name: 'upstream_overloaded' }).getAttribute('href');
    expect(why).toBe(`${system.baseUrl}/docs/errors/upstream_overloaded`);
    expect((await fetch(why!, { headers: { accept: 'text/html' } })).status).toBe(200);

    const person = await newMember(chromium, system, operator, { width: 375, height: 800 });
    const narrow = await person.open(path);
    await narrow.getByText('status-503').waitFor();
    const narrowRows = narrow.getByRole('list', { name: 'Upstream attempts' }).getByRole('listitem');
    await narrowRows.first().waitFor();
    const [first, second] = await narrowRows.allInnerTexts();
    expect(first).toMatch(/Failed\s+vendor · status-503\s[^]*upstream_overloaded · HTTP 503[^]*The upstream’s request ID: req_stub/);
    expect(second).toMatch(/Responded\s+vendor · text\s[^]*The upstream’s request ID: req_stub/);
    expect([await sidewaysScroll(narrow), await accessibilityFaults(narrow)]).toEqual([0, []]);
    const chinese = await newMember(chromium, system, operator, { language: 'zh-CN' });
    const inChinese = await chinese.open(path);
    await inChinese.getByRole('list', { name: '上游尝试' }).getByText('已响应').waitFor();

    expect([...member.faults, ...person.faults, ...chinese.faults]).toEqual([]);
    for (const each of [member, person, chinese]) await each.close();
    await stub.stop();
  });

  it('opens a record and returns by keyboard, with the focus where it was', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/usage/records?key=${keys[0]!.id}`);
    const second = rowsOf(page).nth(2).getByRole('link');
    await second.focus();
    await page.keyboard.press('Enter');
    const sheet = page.getByRole('dialog', { name: 'Usage record' });
    await sheet.getByRole('table', { name: 'The charge' }).waitFor();
    const address = page.url();
    expect(address).toMatch(/\/usage\/records\/req_\w+\?key=/);
    expect(await sheet.evaluate((element) => element.contains(document.activeElement))).toBe(true);
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await page.waitForURL(/\/usage\/records\?key=/);
    await eventually(async () => ((await second.evaluate((element) => element === document.activeElement)) ? true : undefined));

    // The same address, opened directly, is a full page that links to the same list.
    const other = await person.context.newPage();
    await other.goto(address);
    await other.getByRole('heading', { level: 1, name: 'Usage record', exact: true }).waitFor();
    await expectSoon(async () => expect(await other.getByRole('dialog').count()).toBe(0));
    await other.getByRole('main').getByRole('link', { name: 'Usage records' }).click();
    await other.waitForURL(/\/usage\/records\?key=/);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('says that the user who created a key is no longer a member', async () => {
    await addMember(system, accountId, 'former@example.com', 'developer');
    const former = await signedIn(system, 'former@example.com');
    const { user } = await former.get<{ user: { id: string } }>('/me');
    const { key } = await former.must<{ key: { id: string } }>('POST', `${account}/keys`, { name: 'left behind' }, 201);
    await api.must('DELETE', `${account}/members/${user.id}`, undefined, 204);
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/keys/${key.id}`);
    await page.getByText(`Not a member (user_…${user.id.slice(-8)})`).waitFor();
    await person.close();
  });

  it('counts cached input as input of a key, as its records do', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.context.newPage();
    await page.route('**/usage/totals?*', async (route) => {
      const { data } = (await (await route.fetch()).json()) as { data: { tokens: object }[] };
      const tokens = { input: 1, cache_read: 20, cache_write: 300, output: 4000, reasoning: 0 };
      await route.fulfill({ json: { data: data.map((each) => ({ ...each, tokens })) } });
    });
    await page.goto(`console${account}/keys/${keys[0]!.id}`);
    await eventually(async () => ((await tile(page, 'Input tokens').innerText()) === '321' ? true : undefined));
    await person.close();
  });

  it('shows the previous period in the table of the chart too', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(
      `${past}/usage?from=2026-11-02T00:00:00.000Z&until=2026-11-04T00:00:00.000Z&by=day&measure=calls&compare=1`,
    );
    const days = await chartRows(page, 'Calls by model and day');
    const previous = pastCalls.filter((ms) => ms >= Date.UTC(2026, 9, 31) && ms < Date.UTC(2026, 10, 1)).length;
    expect(days[0]!.at(-1)).toBe(String(previous));
    await page.getByRole('columnheader', { name: 'Previous period' }).waitFor();
    await person.close();
  });

  it('shows the details of another bar without rendering the table of the chart again', async () => {
    const person = await newMember(chromium, system, owner);
    const page = await person.open(`${account}/usage?range=90d&measure=calls`);
    const chart = page.getByRole('group', { name: /^Calls by model and day/ });
    const { x, y, width } = (await chart.boundingBox())!;
    await page.mouse.move(x + width - 2, y + 20);
    const label = page.getByRole('status').filter({ hasText: /^\w+ \d+: [\d,]+$/ });
    const before = await label.innerText();
    // New figures, for which the table is rendered, do not arrive meanwhile.
    await page.route('**/usage/totals?*', () => undefined);
    await page.evaluate(() => {
      const format = Object.getOwnPropertyDescriptor(Intl.NumberFormat.prototype, 'format')!;
      Object.defineProperty(Intl.NumberFormat.prototype, 'format', {
        get(this: Intl.NumberFormat) {
          (globalThis as { formatted?: number }).formatted = ((globalThis as { formatted?: number }).formatted ?? 0) + 1;
          return format.get!.call(this) as unknown;
        },
      });
    });
    await page.mouse.move(x + width / 2, y + 20);
    await expectSoon(async () => expect(await label.innerText()).not.toBe(before));
    // Fewer than the table has rows.
    expect(await page.evaluate(() => (globalThis as { formatted?: number }).formatted)).toBeLessThan(90);
    await person.close();
  });

  it('shows the year of calls of last year, in the chosen zone', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Older');
    await system.cli('balance', 'deposit', '5', '--account', id, '--reason', 'invoice 3');
    await system.cli('member', 'put', owner.email, '--role', 'owner', '--account', id);
    const { key } = await api.must<{ key: { id: string } }>('POST', `/accounts/${id}/keys`, { name: 'old' }, 201);
    const year = new Date().getUTCFullYear() - 1;
    // In Tokyo, it is already this year.
    await recordPastCalls(system, { accountId: id, keyId: key.id }, [Date.UTC(year, 11, 31, 20)]);
    const person = await newMember(chromium, system, owner, { timeZone: 'Asia/Tokyo' });
    const page = await person.open(`/accounts/${id}/usage/records`);
    await page.getByText('Jan 1, 05:00:00').waitFor();
    await page.getByRole('radio', { name: 'UTC', exact: true }).check();
    await page.getByText(`Dec 31, ${year}, 20:00:00`).waitFor();
    await person.close();
  });

  it('is available in Chinese, with the same figures', async () => {
    const person = await newMember(chromium, system, owner, { language: 'zh-CN' });
    const page = await person.open(`${past}/usage?from=2026-10-20T00:00:00.000Z&until=2026-11-10T00:00:00.000Z`);
    const {
      data: [total],
    } = await api.get<{ data: [Total] }>(`${past}/usage/totals`);
    await expectSoon(async () => expect(await tile(page, '消费').innerText()).toBe(usdText(total.charge_usd)));
    await page.getByRole('link', { name: '记录', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: '用量记录' }).waitFor();
    await page.getByRole('table', { name: '用量记录' }).getByRole('link').first().click();
    const sheet = page.getByRole('dialog', { name: '用量记录' });
    await sheet.getByRole('table', { name: '费用' }).waitFor();
    await expectSoon(async () => expect(await sheet.innerText()).toContain('已完成'));
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('shows an account without calls how to make its first one', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Empty');
    await system.cli('member', 'put', owner.email, '--role', 'owner', '--account', id);
    const person = await newMember(chromium, system, owner);
    for (const path of ['/usage', '/usage/records']) {
      const page = await person.open(`/accounts/${id}${path}`);
      await page.getByText(`${system.baseUrl}/v1/chat/completions`).waitFor();
      await page.getByRole('link', { name: 'Create key' }).waitFor();
      await page.close();
    }
    expect(person.faults).toEqual([]);
    await person.close();
  });
});
