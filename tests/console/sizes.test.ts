// The budgets of the console's and the catalog's pages: how much a browser has to load, compressed.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page, Request } from 'playwright-core';
import { goTo, newMember, newPerson, settledPage, startChromium } from '../support/clients/chromium.js';
import { startSystem, type System } from '../support/systems/system.js';
import { type SampleAccount, createSampleAccount } from './sample-account.js';

const homeBytesMax = 131_000;
const firstPageBytesMax = 158_000;
const stylesBytesMax = 12_000;
const furtherPageBytesMax = 35_000;
const wholeBytesMax = 387_000;
const catalogBytesMax = 20_000;

describe('the size of the pages', () => {
  let system: System;
  let chromium: Browser;
  let sample: SampleAccount;

  beforeAll(async () => {
    system = await startSystem('single');
    [chromium, sample] = await Promise.all([startChromium(), createSampleAccount(system)]);
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  async function gzipped(url: string): Promise<number> {
    const response = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
    // fetch decompresses the body; the header has the transferred length.
    const length = Number(response.headers.get('content-length'));
    await response.arrayBuffer();
    expect(response.headers.get('content-encoding')).toBe('gzip');
    return length;
  }

  /** Returns the files of a kind that the page loads until it has settled. */
  async function weigh(page: Page, path: string, kind: 'js' | 'css'): Promise<{ bytes: number; hosts: Set<string> }> {
    const urls = new Set<string>();
    const hosts = new Set<string>();
    const record = (request: Request): void => {
      const url = new URL(request.url());
      hosts.add(url.host);
      if (url.pathname.endsWith(`.${kind}`)) urls.add(request.url());
    };
    await page.goto('about:blank');
    page.on('request', record);
    await goTo(page, path);
    await settledPage(page);
    page.off('request', record);
    let bytes = 0;
    for (const url of urls) bytes += await gzipped(url);
    return { bytes, hosts };
  }

  it('is within the budget for each first page, with all files from this gateway', async () => {
    const nobody = await (await newPerson(chromium, system.baseUrl)).context.newPage();
    const owner = await (await newMember(chromium, system, sample.owner)).context.newPage();
    const ofAccount = ['', '/keys', `/keys/${sample.keyId}`, '/usage', '/usage/records', '/billing', '/playground', '/members'].map(
      (page) => `/accounts/${sample.accountId}${page}`,
    );
    const ofOperator = ['accounts', 'users', 'models', 'upstreams', 'codes', 'audit', 'health'].map((page) => `/operator/${page}`);
    const weights: Record<string, number> = {};
    for (const path of ['/sign-in', '/settings', '/settings/security', ...ofAccount, ...ofOperator]) {
      const { bytes, hosts } = await weigh(path === '/sign-in' ? nobody : owner, path, 'js');
      weights[path] = bytes;
      expect([...hosts]).toEqual([new URL(system.baseUrl).host]);
    }
    // The window also requests the files that it has cached.
    const fresh = await (await newMember(chromium, system, sample.owner)).context.newPage();
    expect((await weigh(fresh, ofAccount[0]!, 'js')).bytes).toBe(weights[ofAccount[0]!]);
    expect(weights[ofAccount[0]!]).toBeLessThanOrEqual(homeBytesMax);
    expect(Object.entries(weights).filter(([, bytes]) => bytes > firstPageBytesMax)).toEqual([]);
    expect((await weigh(owner, ofAccount[0]!, 'css')).bytes).toBeLessThanOrEqual(stylesBytesMax);
  });

  it('is within the budget for every further page, and for all of them together', () => {
    const folder = join(import.meta.dirname, '../../dist/console-app/assets');
    const scripts = readdirSync(folder)
      .filter((name) => name.endsWith('.js.gz'))
      .map((name) => ({ name, bytes: statSync(join(folder, name)).size }));
    expect(scripts.length).toBeGreaterThan(20);
    const [, ...others] = scripts.toSorted((one, other) => other.bytes - one.bytes);
    expect(others.filter(({ bytes }) => bytes > furtherPageBytesMax)).toEqual([]);
    expect(scripts.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(wholeBytesMax);
  });

  it('is a few kilobytes for the catalog and a model, with their scripts', async () => {
    for (const path of ['models', 'models/sandbox/echo']) {
      const text = await (await fetch(`${system.baseUrl}/${path}`, { headers: { accept: 'text/html' } })).text();
      const { gzipSync } = await import('node:zlib');
      const scripts = [...text.matchAll(/<script[^>]* src="[./]*\/(console\/\w+\.js)"/g)].map((match) => match[1]!);
      expect(scripts).toHaveLength(2);
      const bytes = await Promise.all(scripts.map((script) => gzipped(`${system.baseUrl}/${script}`)));
      expect(gzipSync(text).length + bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(catalogBytesMax);
    }
  });
});
