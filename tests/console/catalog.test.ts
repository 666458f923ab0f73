// The public catalog in a browser: it works without JavaScript, violates no axe rule in either theme, and fits a phone.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { unavailablePage } from '../../gateway/pages/unavailable-page.js';
import {
  accessibilityFaults,
  expectSoon,
  newPerson,
  overflows,
  screenshot,
  sidewaysScroll,
  startChromium,
} from '../support/clients/chromium.js';
import { eventually } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

// A gateway shows it only until its first catalog arrives.
const awayPage = unavailablePage(
  { root: './', site: '', path: 'models' },
  { language: 'en', suffix: '?lang=en', otherHref: '?lang=zh-CN' },
);

describe('the public catalog in a browser', () => {
  let system: System;
  let chromium: Browser;

  beforeAll(async () => {
    [system, chromium] = await Promise.all([
      startSystem('single', { TOLLGATE_GATEWAY_PUBLIC_URL: 'https://ai.example.com/tollgate' }),
      startChromium(),
    ]);
    await system.cli('price', 'publish', 'sandbox/reason', '--input', '0.1', '--output', '15', '--reasoning', '18.12575');
    await system.cli('price', 'publish', 'sandbox/tool', '--input', '0', '--output', '0');
    await system.cli('price', 'publish', 'sandbox/story', '--input', '0.5', '--output', '3', '--cache-write-1h', '0.75', '--from', '30d');
    // A price that replaces another takes effect a moment after it is published.
    await eventually(async () => {
      const list = await fetch(`${system.baseUrl}/models`, { headers: { accept: 'text/html' } });
      return (await list.text()).includes('<span class="tag">free</span>') ? true : undefined;
    });
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  it('can be searched, sorted and filtered without JavaScript, and every view has an address', async () => {
    const context = await chromium.newContext({ baseURL: `${system.baseUrl}/`, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto('models');
    await page.getByLabel('Search').fill('sandbox');
    await page.getByLabel('tools', { exact: true }).check();
    await page.getByLabel('Sort by').selectOption('Output price, lowest first');
    await page.getByRole('button', { name: 'Apply' }).click();
    expect(new URL(page.url()).searchParams.toString()).toMatch(/q=sandbox&owner=&sort=output&with=tools/);
    await expectSoon(async () => expect(await page.locator('tbody tr').count()).toBeLessThan(8));
    await expectSoon(async () => expect(await page.locator('tbody tr').first().innerText()).toMatch(/Sandbox Tool[^]*free[^]*\$0/));
    await page.getByRole('link', { name: 'Output', exact: true }).click();
    await expectSoon(async () => expect(await page.locator('thead [aria-sort=descending]').innerText()).toBe('Output'));
    await expectSoon(async () => expect(await page.locator('tbody tr').last().innerText()).toContain('Sandbox Tool'));
    await context.close();
  });

  it('filters at once with JavaScript, keeps the focus, and the address is that of the view', async () => {
    const person = await newPerson(chromium, system.baseUrl);
    const page = await person.context.newPage();
    await page.goto('models');
    // What is shown stays while the gateway cannot answer.
    const refused = page.waitForResponse((response) => response.status() === 503);
    await page.route('**/models?*', (route) => route.fulfill({ status: 503, contentType: 'text/html', body: '<h1>Unavailable</h1>' }));
    await page.getByLabel('Search').fill('echo');
    await (await refused).finished();
    await page.waitForTimeout(300);
    await page.getByLabel('Compare: Sandbox Reason').waitFor({ timeout: 1000 });
    await page.unroute('**/models?*');
    await page.getByLabel('Search').fill('reason');
    await page
      .getByRole('status')
      .getByText(/^\d of \d+ models$/)
      .waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('reason');
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Apply' }).count()).toBe(0));
    await expectSoon(async () => expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('q'));
    await page.getByLabel('Compare: Sandbox Reason').check();
    await page.getByRole('button', { name: 'Compare selected models' }).click();
    await page.getByRole('heading', { name: 'Compare models' }).waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('calculates costs and shows how to call a model without JavaScript, with the address that callers use', async () => {
    const context = await chromium.newContext({ baseURL: `${system.baseUrl}/`, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto('models');
    await page.getByRole('link', { name: 'Sandbox Reason' }).click();
    for (const [label, tokens] of [
      ['Input tokens per call', '100'],
      ['Cache write, 1 h', '3'],
      ['Output tokens per call', '50'],
      ['Of which reasoning', '20'],
      ['Calls', '10'],
    ] as const)
      await page.getByLabel(label).fill(tokens);
    await page.getByRole('button', { name: 'Calculate' }).click();
    const { usd_per_million_tokens: usd } = (
      (await (await fetch(`${system.baseUrl}/v1/catalog`)).json()) as {
        data: { id: string; usd_per_million_tokens: Record<string, string> }[];
      }
    ).data.find(({ id }) => id === 'sandbox/reason')!;
    const call =
      100 * Number(usd['input']) + 3 * Number(usd['cache_write_1h']) + 30 * Number(usd['output']) + 20 * Number(usd['reasoning']);
    expect(Number((await page.locator('output').innerText()).replace('$', ''))).toBeCloseTo((call * 10) / 1e6, 9);
    await expectSoon(async () =>
      expect(await page.locator('pre').first().innerText()).toContain('https://ai.example.com/tollgate/v1/chat/completions'),
    );
    await context.close();
  });

  it.each([
    ['models', 'catalog'],
    ['models?lang=zh-CN', 'catalog-zh'],
    ['models/sandbox/reason?lang=zh-CN', 'catalog-model-zh'],
    ['models?q=no-such-thing', 'catalog-none'],
    ['models/sandbox/reason', 'catalog-model'],
    ['models/sandbox/story', 'catalog-scheduled'],
    ['models/no/such', 'catalog-unknown'],
    ['models?compare=sandbox/reason&compare=sandbox/story', 'catalog-compare'],
    ['', 'landing'],
    ['models?lang=en', 'catalog-away'],
  ])('%s violates no rule, light or dark, wide or narrow', async (path, name) => {
    const person = await newPerson(chromium, system.baseUrl);
    const page = await person.context.newPage();
    if (name === 'catalog-away') await page.route('**/models?*', (route) => route.fulfill({ contentType: 'text/html', body: awayPage }));
    await page.goto(path);
    if (name === 'catalog-away') await page.getByRole('heading', { level: 1, name: 'The models cannot be shown now' }).waitFor();
    for (const theme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      await screenshot(page, `${name}-${theme}-1280`);
      const faults = await accessibilityFaults(page, theme === 'light' ? 'all' : 'colours');
      expect({ theme, faults }).toEqual({ theme, faults: [] });
    }
    expect([await sidewaysScroll(page), await overflows(page)]).toEqual([0, []]);
    // Colours do not depend on the width.
    await page.setViewportSize({ width: 375, height: 800 });
    await screenshot(page, `${name}-light-375`);
    expect(await accessibilityFaults(page, 'layout')).toEqual([]);
    expect([await sidewaysScroll(page), await overflows(page)]).toEqual([0, []]);
    expect(person.faults).toEqual([]);
    await person.close();
  });
});
