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
    const names = [...(await (await fetch(`${system.baseUrl}/llms.txt`)).text()).matchAll(/\(docs\/([\w-]+)\.md\)/g)].map(
      (match) => match[1]!,
    );
    expect(names).toContain('console-api');
    for (const width of [1280, 375]) {
      const person = await newPerson(chromium, system.baseUrl, { width });
      const page = await person.context.newPage();
      for (const path of ['docs', ...names.map((name) => `docs/${name}`)]) {
        await page.goto(path);
        expect([path, width, await sidewaysScroll(page)]).toEqual([path, width, 0]);
      }
      expect(person.faults).toEqual([]);
      await person.close();
    }
  });

  it.each(['docs', 'docs/console-api'])(
    '%s breaks no rule, light or dark, wide or narrow',
    async (path) => {
      for (const width of [1280, 375]) {
        const person = await newPerson(chromium, system.baseUrl, { width });
        const page = await person.context.newPage();
        await page.goto(path);
        for (const theme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme: theme });
          await screenshot(page, `${path.replace('/', '-')}-${theme}-${width}`);
          expect({ width, theme, faults: await accessibilityFaults(page) }).toEqual({ width, theme, faults: [] });
        }
        await person.close();
      }
    },
    120_000,
  );
});
