// The docs: pages that need neither a key nor scripts, without broken links, and the same texts for programs.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const run = promisify(execFile);

describe.each(browserModes)('the docs, %s', (mode) => {
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

  it('have no broken links: every link on every page, starting at the index, leads to a page and an anchor', async () => {
    const texts = new Map<string, string>();
    const waiting = ['/docs'];
    const anchors: [from: string, to: string, anchor: string][] = [];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (texts.has(path)) continue;
      const response = await browse(path);
      const text = await response.text();
      expect([path, response.status]).toEqual([path, 200]);
      texts.set(path, text);
      if (!/^\/docs(\/[\w-]+){0,2}$/.test(path) || path === '/docs/search') continue;
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toContain('max-age=');
      expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
      // An absolute path would not reach a gateway that a proxy serves below a path.
      expect(text.replace(/<script( type="module")? src="[./]+\/console\/\w+\.js"><\/script>/g, '')).not.toMatch(
        /<script|\sstyle=|\son\w+="|href="\//,
      );
      expect(gzipSync(text).length).toBeLessThan(40_000);
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
        '/docs/errors/balance_empty',
        '/docs/runbooks/disk',
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

  it('are served to programs as Markdown, unchanged except for the targets of links', async () => {
    const unlinked = (text: string): string => text.replaceAll(/\[((?:`[^`\n]*`|[^\]`])*)\]\([^)\s]+\)/g, '$1');
    const list = await browse('/llms.txt');
    expect(list.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const names = [...(await list.text()).matchAll(/\]\(docs\/([\w/-]+)\.md\)/g)].map((match) => match[1]!);
    expect(names).toContain('errors');
    const whole = unlinked(await (await browse('/llms-full.txt')).text());
    for (const name of names) {
      const response = await browse(`/docs/${name}.md`);
      const text = await response.text();
      expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      // The samples have the address of this instance.
      expect(text).not.toContain('http://127.0.0.1:8080');
      if (!['api', 'console-api', 'errors', 'not-offered', 'runbooks/index', 'webhooks'].includes(name))
        expect(unlinked(text)).toBe(unlinked(readFileSync(`docs/${name}.md`, 'utf8').replaceAll('http://127.0.0.1:8080', system.baseUrl)));
      expect(whole).toContain(unlinked(text).trim());
    }
  });

  it('begin with a quick start whose samples work unchanged', async () => {
    const page = await (await browse('/docs')).text();
    const [, escaped] = /<code>(curl [^]*?\/v1\/chat\/completions [^]*?)<\/code>/.exec(page)!;
    const command = escaped!.replaceAll('&quot;', '"').replaceAll('&#39;', "'");
    const { stdout } = await run('sh', ['-c', `${command} -si`], { env: { ...process.env, TOLLGATE_API_KEY: system.firstKey } });
    expect(stdout).toMatch(/^x-tollgate-charge-usd: 0\.\d+\r$/m);
    expect(stdout).toContain('"content":"Hello"');
  });

  it('can be searched', async () => {
    const page = await (await browse('/docs/search?q=held+balance')).text();
    expect(page).toContain('href="../docs/errors/balance_held"');
    expect(page).toContain('<mark>');
    expect(await (await browse('/docs/search?q=%3Cqqqq%3E')).text()).toContain('Nothing matches “&lt;qqqq&gt;”.');
  });

  it('return an error for an unknown page, and accept only GET and HEAD', async () => {
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

  it('redirect an address with a trailing slash to the one without, by a relative address', async () => {
    for (const [from, to] of [
      ['/docs/', '/docs'],
      ['/docs/errors/', '/docs/errors'],
    ] as const) {
      const response = await browse(from);
      expect([response.status, new URL(response.headers.get('location')!, new URL(from, system.baseUrl)).pathname]).toEqual([308, to]);
    }
  });
});
