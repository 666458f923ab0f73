// The public catalog: pages that need neither a key nor scripts, with the same figures as JSON and CSV.
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { get } from '../support/clients/calls.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

interface Listed {
  id: string;
  display_name: string;
  usd_per_million_tokens: { input: string; output: string } | null;
}

/** Returns an amount with at least two decimals. */
const shown = (usd: string): string => `$${usd.includes('.') ? usd.replace(/\.(\d)$/, '.$10') : `${usd}.00`}`;

/** Returns the page without the white space and slashes that HTML ignores at the end of a tag. */
const tidy = (page: string): string => page.replace(/\s*\/?>/g, '>');

describe.each(browserModes)('the public catalog, %s', (mode) => {
  let system: System;
  let listed: Listed[];

  beforeAll(async () => {
    system = await startSystem(mode);
    listed = ((await (await fetch(`${system.baseUrl}/v1/catalog`)).json()) as { data: Listed[] }).data;
  });

  afterAll(() => system?.stop());

  const browse = (path: string): Promise<Response> =>
    fetch(`${system.baseUrl}${path}`, { headers: { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' } });

  it('shows every model with its prices to a browser, in a small page', async () => {
    const response = await browse('/models');
    const text = tidy(await response.text());
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const { id, usd_per_million_tokens: prices } of listed) {
      expect(text).toContain(`<code>${id}</code>`);
      if (prices !== null) expect(text).toContain(`${shown(prices.input)}<`);
    }
    // Its scripts are files of this gateway, which the page does not need.
    expect(text.replace(/<script( type="module")? src="\.\/console\/\w+\.js"><\/script>/g, '')).not.toMatch(/<script|\son\w+=/);
    expect(text.replaceAll(system.baseUrl, '')).not.toMatch(/https?:\/\//);
    expect(gzipSync(text).length).toBeLessThan(20_000);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('is compressed, as are the docs and the OpenAPI documents, but not responses to calls and lists for keys', async () => {
    const accept = (encoding: string) => ({ accept: 'text/html', 'accept-encoding': encoding });
    for (const path of [
      '/',
      '/models',
      '/models/sandbox/echo',
      '/models.json',
      '/docs',
      '/docs/keys',
      '/openapi.json',
      '/console/openapi.json',
    ]) {
      const [plain, ...small] = await Promise.all(
        ['identity', 'gzip', 'br'].map(async (encoding) => {
          const response = await fetch(system.baseUrl + path, { headers: accept(encoding) });
          expect([path, response.headers.get('content-encoding') ?? 'identity']).toEqual([path, encoding]);
          expect(response.headers.get('vary')?.toLowerCase()).toContain('accept-encoding');
          return response.text();
        }),
      );
      for (const text of small) expect(text).toBe(plain);
    }
    const headers = { authorization: `Bearer ${system.firstKey}`, 'content-type': 'application/json', 'accept-encoding': 'gzip, br, zstd' };
    const long = 'x'.repeat(4000);
    for (const [path, body] of [
      ['/v1/chat/completions', { model: 'sandbox/echo', messages: [{ role: 'user', content: long }] }],
      ['/v1/chat/completions', { model: 'sandbox/echo', stream: true, messages: [{ role: 'user', content: long }] }],
      ['/v1/messages', { model: 'sandbox/echo', max_tokens: 2000, messages: [{ role: 'user', content: long }] }],
      ['/v1/responses', { model: 'sandbox/echo', input: long }],
      ['/v1/embeddings', { model: 'sandbox/embed', input: long }],
      ['/v1/models', undefined],
      ['/models', undefined],
    ] as const) {
      const call = { method: body === undefined ? 'GET' : 'POST', ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const response = await fetch(system.baseUrl + path, { headers, ...call });
      expect([path, response.status, response.headers.get('content-encoding')]).toEqual([path, 200, null]);
      expect(response.headers.get('vary')?.toLowerCase() ?? '').not.toContain('accept-encoding');
      await response.text();
    }
  });

  it('is searched, filtered and sorted by parameters of the address, in the same way as page, JSON and CSV', async () => {
    const query = '?q=sandbox&with=tools&sort=name-desc';
    const { data } = (await (await fetch(`${system.baseUrl}/models.json${query}`)).json()) as { data: Listed[] };
    const csv = (await (await fetch(`${system.baseUrl}/models.csv${query}`)).text())
      .trim()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[0]);
    const page = [...tidy(await (await browse(`/models${query}`)).text()).matchAll(/<span class="id"><code>([^<]+)<\/code>/g)].map(
      (match) => match[1],
    );
    expect(data.length).toBeGreaterThan(0);
    expect(data.length).toBeLessThan(listed.length);
    expect(csv).toEqual(data.map(({ id }) => id));
    expect(page).toEqual(csv);
    expect(await (await browse('/models?q=no-such-thing')).text()).toContain('No models match');
  });

  it('has a page for each model, whose calculator computes what a call is charged', async () => {
    const answer = await fetch(`${system.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.firstKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'What would this cost?' }] }),
    });
    const { usage } = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    const charge = answer.headers.get('x-tollgate-charge-usd')!;
    const text = await (
      await browse(`/models/sandbox/echo?input=${usage.prompt_tokens}&cached=0&output=${usage.completion_tokens}&calls=1`)
    ).text();
    expect(text).toContain(`<output>${shown(charge)}</output>`);
    expect(text).toContain('Price history');
    expect(text).toContain(`${system.baseUrl}/v1`);
  });

  it('is in the browser’s language, or in the chosen one, which is remembered', async () => {
    const read = async (path: string, language: string): Promise<[string, Response]> => {
      const response = await fetch(`${system.baseUrl}${path}`, { headers: { accept: 'text/html', 'accept-language': language } });
      return [tidy(await response.text()), response];
    };
    const [chinese, response] = await read('/models', 'zh-TW,zh;q=0.9,en;q=0.8');
    expect(chinese).toContain('<html lang="zh-CN"');
    expect(chinese).toContain('<h1>模型</h1>');
    expect(response.headers.get('vary')?.toLowerCase()).toContain('accept-language');
    expect((await read('/models', 'fr'))[0]).toContain('<html lang="en"');
    const [chosen] = await read('/models?lang=en', 'zh-CN');
    expect(chosen).toContain('<h1>Models</h1>');
    for (const link of chosen.match(/href="[^"]*models[^"]*"/g)!.filter((each) => !/models\.(json|csv)/.test(each)))
      expect(link).toMatch(/lang=(en|zh-CN)"/);
    expect(chosen).toContain('<input type="hidden" name="lang" value="en">');
    const [model] = await read('/models/sandbox/echo?lang=zh-CN', 'en');
    expect(model).toContain('价格历史');
    expect(model).toContain('href="../../models?lang=zh-CN"');
    expect((await read('/models/no/such?lang=zh-CN', 'en'))[0]).toContain('模型不存在');
  });

  it('shows browsers a page for an unknown model, with links within the site', async () => {
    const response = await browse('/models/no/such%22%3E%3Cb%3Emodel');
    const text = await response.text();
    expect(response.status).toBe(404);
    expect(text).toContain('No such model');
    expect(text).not.toContain('<b>model');
    expect(text).toContain('href="../../models"');
  });

  it('shows browsers a page for an unknown address, and returns programs an error', async () => {
    const response = await browse('/no/such-page?lang=zh-CN');
    const text = await response.text();
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain('页面不存在');
    expect(text).toContain('href="../models?lang=zh-CN"');
    const program = await fetch(`${system.baseUrl}/no/such-page`);
    expect([program.status, ((await program.json()) as { error: { reason: string } }).error.reason]).toEqual([404, 'not_found']);
  });

  it('is a page for link previews and crawlers too, while programs can use the base URL without /v1', async () => {
    for (const headers of [{}, { accept: '*/*', 'user-agent': 'Slackbot-LinkExpanding 1.0' }] as Record<string, string>[]) {
      const response = await fetch(`${system.baseUrl}/models/sandbox/echo`, { headers });
      const text = tidy(await response.text());
      expect(response.status).toBe(200);
      expect(text).toContain('<meta property="og:title" content="Sandbox Echo · Tollgate">');
      expect(text).toContain(`<link rel="canonical" href="${system.baseUrl}/models/sandbox/echo">`);
    }
    expect((await get(system, '/models', system.firstKey)).status).toBe(200);
    expect((await fetch(`${system.baseUrl}/models`, { headers: { accept: 'application/json' } })).status).toBe(401);
    const keyed = await fetch(`${system.baseUrl}/models/sandbox/echo`, {
      headers: { accept: 'text/html', authorization: `Bearer ${system.firstKey}` },
    });
    expect(await keyed.json()).toMatchObject({ id: 'sandbox/echo' });
  });

  it('is in the sitemap, which robots.txt names and whose addresses are all pages, and has an icon and a preview image', async () => {
    const robots = await (await fetch(`${system.baseUrl}/robots.txt`)).text();
    const sitemap = await (await fetch(/^Sitemap: (.+)$/m.exec(robots)![1]!)).text();
    const addresses = [...sitemap.matchAll(/<loc>([^<]+)<\/loc>/g)].map((match) => match[1]!);
    expect(addresses).toEqual(
      expect.arrayContaining(['/', '/models', '/models/sandbox/echo', '/docs'].map((path) => system.baseUrl + path)),
    );
    for (const address of addresses.filter((each) => !each.includes('/docs/')))
      expect((await browse(new URL(address).pathname)).status).toBe(200);
    for (const [path, type] of [
      ['/favicon.ico', 'image/svg+xml'],
      ['/console/preview.png', 'image/png'],
    ] as const)
      expect((await browse(path)).headers.get('content-type')).toBe(type);
  });

  it('compares models side by side', async () => {
    const text = await (await browse('/models?compare=sandbox/echo&compare=sandbox/reason&compare=no/such')).text();
    expect(text).toContain('Compare models');
    expect(text.match(/<th scope="col">/g)).toHaveLength(2);
  });

  it('has a landing page at the root for visitors, which redirects signed-in users to the console', async () => {
    const response = await browse('/');
    expect([response.status, (await response.text()).includes('Sign in')]).toEqual([200, true]);
    const cookie = `tollgate_session=${'a'.repeat(43)}`;
    const signedIn = await fetch(system.baseUrl, { headers: { accept: 'text/html', cookie }, redirect: 'manual' });
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([302, 'console/']);
    expect((await fetch(system.baseUrl, { headers: { accept: 'application/json' } })).status).toBe(404);
  });

  it('gives the API document an absolute address', async () => {
    const { servers } = (await (await fetch(`${system.baseUrl}/openapi.json`)).json()) as { servers: unknown };
    expect(servers).toEqual([{ url: system.baseUrl }]);
  });
});
