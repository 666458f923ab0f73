// The docs in a browser: they fit a phone, can be searched, closed in part to visitors, and violate no axe rule in either theme.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import {
  accessibilityFaults,
  expectSoon,
  newMember,
  newPerson,
  screenshot,
  sidewaysScroll,
  startChromium,
} from '../support/clients/chromium.js';
import { addUser, password } from '../support/clients/console.js';
import { startSystem, type System } from '../support/systems/system.js';

const operator = { email: 'operator@example.com', password };

describe('the docs in a browser', () => {
  let system: System;
  let chromium: Browser;

  beforeAll(async () => {
    [system, chromium] = await Promise.all([
      startSystem('single', {
        TOLLGATE_GATEWAY_OPERATOR_DOCS: 'operators',
        TOLLGATE_GATEWAY_LANDING_PAGE: 'false',
        TOLLGATE_GATEWAY_CATALOG_SANDBOX: 'false',
      }),
      startChromium(),
    ]);
    await addUser(system, operator.email, operator.password, '--operator');
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  it('have the operators’ pages only for operators, and no landing page and sandbox models, if so configured', async () => {
    const visit = async (path: string): Promise<[number, string]> => {
      const response = await fetch(`${system.baseUrl}/${path}`, { redirect: 'manual' });
      return [response.status, await response.text()];
    };
    for (const path of ['docs/configuration', 'docs/configuration.md', 'docs/runbooks/disk']) {
      const [status, text] = await visit(path);
      expect([path, status, text.includes('Sign in to read this page')]).toEqual([path, 401, true]);
    }
    for (const path of ['llms.txt', 'llms-full.txt', 'sitemap.xml', 'docs', 'docs/search?q=TOLLGATE_GATEWAY_HOST'])
      expect([path, (await visit(path))[1].includes('docs/configuration')]).toEqual([path, false]);
    expect((await visit(''))[0]).toBe(302);
    expect((await visit('models.csv'))[1]).not.toContain('sandbox/');
    expect((await visit('models/sandbox/echo'))[0]).toBe(404);

    const person = await newMember(chromium, system, operator);
    const page = await person.context.newPage();
    await page.goto('docs/search?q=TOLLGATE_GATEWAY_HOST');
    await page
      .getByRole('article')
      .getByRole('link', { name: /^Configuration/ })
      .first()
      .click();
    await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
    await person.close();
  });

  it('never scroll sideways', async () => {
    const person = await newMember(chromium, system, operator);
    const list = await (await person.context.request.get('llms.txt')).text();
    const names = [...list.matchAll(/\(docs\/([\w/-]+)\.md\)/g)].map((match) => match[1]!);
    expect(names).toContain('console-api');
    const page = await person.context.newPage();
    const widths = [375, 1280];
    for (const path of ['docs', 'docs/errors/idempotency_answer_gone', 'docs/search?q=key', ...names.map((name) => `docs/${name}`)]) {
      await page.goto(path);
      // Each page begins at the width at which the previous one ended, so that it is laid out only once for each width.
      for (const width of widths.reverse()) {
        await page.setViewportSize({ width, height: 800 });
        expect([path, width, await sidewaysScroll(page)]).toEqual([path, width, 0]);
      }
    }
    expect(person.faults).toEqual([]);
    await person.close();
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
    await expectSoon(async () => expect(await page.locator('#results a').count()).toBe(0));
    await page.goto('docs');
    await page.getByText('Python', { exact: true }).click();
    await page.getByRole('button', { name: 'Copy', exact: true }).nth(1).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`base_url="${system.baseUrl}/v1"`);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it.each(['docs', 'docs/console-api'])(
    '%s breaks no rule, light or dark, wide or narrow',
    async (path) => {
      const person = await newPerson(chromium, system.baseUrl);
      const page = await person.context.newPage();
      await page.goto(path);
      const name = path.replace(/\W+/g, '-');
      for (const theme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme: theme });
        await screenshot(page, `${name}-${theme}-1280`);
        const faults = await accessibilityFaults(page, theme === 'light' ? 'all' : 'colours');
        expect({ theme, faults }).toEqual({ theme, faults: [] });
      }
      await page.setViewportSize({ width: 375, height: 800 });
      await screenshot(page, `${name}-light-375`);
      // Colours do not depend on the width. Only a narrow window has a link to the list of pages, which one page is enough to check.
      expect(await accessibilityFaults(page, path === 'docs' ? 'all' : 'layout')).toEqual([]);
      await person.close();
    },
    120_000,
  );
});
