// The docs in a browser: they fit a phone, and the largest page and the index violate no axe rule in either theme.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { accessibilityFaults, newPerson, screenshot, sidewaysScroll, startChromium } from '../support/chromium.js';
import { startSystem, type System } from '../support/system.js';

describe('the docs in a browser', () => {
  let system: System;
  let chromium: Browser;

  beforeAll(async () => {
    [system, chromium] = await Promise.all([startSystem('single'), startChromium()]);
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  it('never scroll sideways', async () => {
    const names = [...(await (await fetch(`${system.baseUrl}/llms.txt`)).text()).matchAll(/\(docs\/([\w/-]+)\.md\)/g)].map(
      (match) => match[1]!,
    );
    expect(names).toContain('console-api');
    for (const width of [1280, 375]) {
      const person = await newPerson(chromium, system.baseUrl, { width });
      const page = await person.context.newPage();
      for (const path of ['docs', 'docs/errors/balance_empty', 'docs/search?q=key', ...names.map((name) => `docs/${name}`)]) {
        await page.goto(path);
        expect([path, width, await sidewaysScroll(page)]).toEqual([path, width, 0]);
      }
      expect(person.faults).toEqual([]);
      await person.close();
    }
  });

  it('find a section while the reader types, by keyboard alone, and copy a sample', async () => {
    const person = await newPerson(chromium, system.baseUrl);
    await person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await person.context.newPage();
    await page.goto('docs/charging');
    await page.keyboard.press('/');
    await page.keyboard.type('retry-after');
    await page.getByRole('link', { name: /^Errors: Whether to retry/ }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await page.locator('#results a').count()).toBe(0);
    await page.goto('docs');
    await page.getByText('Python', { exact: true }).click();
    await page.getByRole('button', { name: 'Copy', exact: true }).nth(1).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`base_url="${system.baseUrl}/v1"`);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it.each(['docs', 'docs/console-api', 'docs/search?q=idempotency'])(
    '%s breaks no rule, light or dark, wide or narrow',
    async (path) => {
      for (const width of [1280, 375]) {
        const person = await newPerson(chromium, system.baseUrl, { width });
        const page = await person.context.newPage();
        await page.goto(path);
        for (const theme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme: theme });
          await screenshot(page, `${path.replace(/\W+/g, '-')}-${theme}-${width}`);
          expect({ width, theme, faults: await accessibilityFaults(page) }).toEqual({ width, theme, faults: [] });
        }
        await person.close();
      }
    },
    120_000,
  );
});
