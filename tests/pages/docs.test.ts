// The docs: pages that need no key and no script, whose links all lead somewhere, and the same texts for programs.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { modes, startSystem, type System } from '../support/system.js';

describe.each(modes)('the docs, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode);
  });

  afterAll(() => system?.stop());

  const browse = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(new URL(path, system.baseUrl), { headers: { accept: 'text/html,*/*;q=0.8' }, redirect: 'manual', ...init });

  /** The addresses that a page links to within the site. */
  function linksOf(text: string, address: string): URL[] {
    return [...text.matchAll(/href="([^"]+)"/g)]
      .map(([, href]) => new URL(href!, new URL(address, system.baseUrl)))
      .filter(({ origin }) => origin === system.baseUrl);
  }

  it('can be walked from the index: every link of every page leads to a page, and to its anchor', async () => {
    const texts = new Map<string, string>();
    const waiting = ['/docs'];
    const anchors: [from: string, to: string, anchor: string][] = [];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (texts.has(path)) continue;
      const response = await browse(path);
      const text = await response.text();
      expect([path, response.status]).toEqual([path, 200]);
      texts.set(path, text);
      if (!/^\/docs(\/[\w-]+)?$/.test(path)) continue;
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toContain('max-age=');
      expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
      // An address from the root would miss a gateway that a proxy serves below a path.
      expect(text).not.toMatch(/<script|<img|<link|\sstyle=|\son\w+="|href="\//);
      expect(gzipSync(text).length).toBeLessThan(30_000);
      for (const { pathname, hash } of linksOf(text, path)) {
        waiting.push(pathname);
        if (hash !== '') anchors.push([path, pathname, decodeURIComponent(hash.slice(1))]);
      }
    }
    expect([...texts.keys()]).toEqual(
      expect.arrayContaining([
        '/docs/clients',
        '/docs/api',
        '/docs/errors',
        '/docs/charging',
        '/docs/api.md',
        '/docs/console-api',
        '/llms.txt',
        '/llms-full.txt',
        '/models',
        '/openapi.json',
        '/console/openapi.json',
      ]),
    );
    expect(anchors.length).toBeGreaterThan(50);
    for (const [from, to, anchor] of anchors)
      expect({ from, to, anchor, found: texts.get(to)!.includes(` id="${anchor}"`) }).toEqual({ from, to, anchor, found: true });
  });

  it('are Markdown to programs, the very files', async () => {
    const list = await browse('/llms.txt');
    expect(list.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const names = [...(await list.text()).matchAll(/\]\(docs\/([\w-]+)\.md\)/g)].map((match) => match[1]!);
    expect(names).toContain('errors');
    const whole = await (await browse('/llms-full.txt')).text();
    for (const name of names) {
      const response = await browse(`/docs/${name}.md`);
      const text = await response.text();
      expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      if (!['api', 'console-api', 'errors'].includes(name)) expect(text).toBe(readFileSync(`docs/${name}.md`, 'utf8'));
      expect(whole).toContain(text.trim());
    }
  });

  it('say so where there is no page, and take nothing but GET and HEAD', async () => {
    const response = await browse('/docs/no/such%3Cb%3Epage');
    const text = await response.text();
    expect(response.status).toBe(404);
    expect(text).toContain('No such page');
    expect(text).not.toContain('<b>page');
    expect(linksOf(text, '/docs/no/such').map(({ pathname }) => pathname)).toEqual(expect.arrayContaining(['/docs', '/models']));

    const head = await browse('/docs/errors', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await browse('/docs/errors', { method: 'POST' })).status).toBe(405);
  });

  it('send an address with a slash at its end to the one without, by a relative address', async () => {
    for (const [from, to] of [
      ['/docs/', '/docs'],
      ['/docs/errors/', '/docs/errors'],
    ] as const) {
      const response = await browse(from);
      expect([response.status, new URL(response.headers.get('location')!, new URL(from, system.baseUrl)).pathname]).toEqual([308, to]);
    }
  });
});
