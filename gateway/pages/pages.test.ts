import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Context, Middleware } from 'koa';
import { root } from '#kit/root.js';
import { Model, ModelState } from '#proto/catalog/v1/catalog.js';
import { ModelPerformance } from '#proto/metering/v1/metering.js';
import type { CatalogModel } from '../formats/models-schema.js';
import { createModelReplica } from '../replicas/models.js';
import { catalogFile, catalogHtml, landingHtml, modelHtml, type PageDeps, unlessApi } from '../routes/pages.js';
import { catalogCsv } from './catalog/catalog-csv.js';
import { comparePage } from './catalog/compare-page.js';
import { estimate, readSize, sizeDefault } from './catalog/estimate.js';
import { robotsTxt } from './crawlers.js';
import { html } from './html.js';
import { pageLanguageOf } from './language.js';
import { measuredCallsPerSecond, sampleModel } from './landing-page.js';
import { page } from './page.js';
import { colours, contentSecurityPolicy } from './style.js';

describe('html', () => {
  it('escapes every value, so that no text becomes markup', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { text: written } = html`<p title="${text}">${[text, html`<b>${text}</b>`]}</p>`;
        expect(written.match(/</g)).toHaveLength(4);
        expect(written.match(/"/g)).toHaveLength(2);
      }),
    );
  });
});

describe('a page', () => {
  it('has exactly the style that its policy allows', () => {
    const text = page({
      title: 't',
      description: 'd',
      place: { root: './', site: 'https://ai.example.com', path: 'docs' },
      content: html``,
    });
    const [, style] = /<style>([^]*?)<\/style>/.exec(text)!;
    expect(contentSecurityPolicy).toContain(`'sha256-${createHash('sha256').update(style!).digest('base64')}'`);
  });
});

describe('the public pages', () => {
  it('have the colours of the console', () => {
    const theme = readFileSync(new URL('console/src/styles.css', root), 'utf8');
    for (const [name, [light, dark]] of Object.entries(colours)) expect(theme).toContain(`--color-${name}: light-dark(${light}, ${dark});`);
  });

  it('show the figure that the page of capacity has', () => {
    const [, figure] = /one core, 32 callers \| ([\d,]+) \|/.exec(readFileSync(new URL('docs/capacity.md', root), 'utf8'))!;
    expect(measuredCallsPerSecond.toLocaleString('en-US')).toBe(figure);
  });
});

/** A model of the catalog with one price for all input. */
function priced(id: string, input: string, output: string, fields: Partial<CatalogModel> = {}): CatalogModel {
  return {
    id,
    display_name: id,
    description: '',
    owned_by: 'acme',
    lifecycle: 'active',
    available: true,
    aliases: [],
    features: [],
    max_input_tokens: 1,
    max_tokens: 1,
    input_modalities: ['text'],
    output_modalities: ['text'],
    unit_prices: [],
    usd_per_million_tokens: { input, cache_read: input, cache_write_5m: input, cache_write_1h: input, output },
    ...fields,
  } as unknown as CatalogModel;
}

describe('a comparison', () => {
  it('has as many decimals in all amounts of a row', () => {
    const text = comparePage({
      models: [priced('a', '3', '0.34125'), priced('b', '0.0855', '10')],
      place: { root: './', site: 'https://ai.example.com', path: 'models' },
      pageLanguage: pageLanguageOf({}, 'en'),
    }).replaceAll(/<[^>]*>|\s/g, '');
    expect(text).toContain('$3.0000$0.0855');
    expect(text).toContain('$0.34125$10.00000');
  });
});

describe('the model of the samples', () => {
  const echo = priced('sandbox/echo', '0.1', '0.4', { owned_by: 'tollgate' });

  it('is the cheapest that costs something', () => {
    expect(sampleModel([echo, priced('dear', '1', '5'), priced('cheap', '1', '0.2'), priced('free', '0', '0')])?.id).toBe('cheap');
  });

  it('is the echo of the sandbox without any other', () => {
    expect(sampleModel([priced('free', '0', '0'), priced('away', '1', '1', { available: false }), echo])).toBe(echo);
  });
});

describe('the calculator', () => {
  const prices = { input: '3', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6', output: '15.000000001' };

  it('rounds each line up to a nano-dollar and multiplies the sum', () => {
    const { lines, call, all } = estimate(prices, [], { ...sizeDefault, input: 1, cached: 3, output: 1, calls: 1000 });
    expect(lines.map(({ nanoUsd }) => nanoUsd)).toEqual([3000n, 900n, 15_001n]);
    expect(call).toBe(18_901n);
    expect(all).toBe(18_901_000n);
  });

  it('has a line for each class that a charge would have, and no more reasoning than output', () => {
    const size = readSize({ input: '10', cached: '20', written: '30', written1h: '40', output: '50', reasoning: '60', calls: '1' }, []);
    expect(size.reasoning).toBe(50);
    expect(estimate(prices, [], size).lines.map(({ quantity, nanoUsd }) => [quantity, nanoUsd])).toEqual([
      [10, 30_000n],
      [20, 6000n],
      [30, 112_500n],
      [40, 240_000n],
      [50, 750_001n],
    ]);
    const apart = estimate({ ...prices, reasoning: '20' }, [], { ...size, reasoning: 45 });
    expect(apart.lines.slice(4).map(({ kind, quantity, nanoUsd }) => [kind, quantity, nanoUsd])).toEqual([
      ['output', 5, 75_001n],
      ['reasoning', 45, 900_000n],
    ]);
  });

  it('adds the price of the request and of what else a call uses, up to its cap', () => {
    const units = [
      { unit: 'request', usd: '0.001', max_per_call: 1 },
      { unit: 'web_search', usd: '0.01', max_per_call: 5 },
      { unit: 'image', usd: '0.04', max_per_call: 2 },
    ];
    const size = readSize({ input: '0', output: '0', calls: '10', unit_web_search: '9', unit_request: '7' }, units);
    const { lines, call, all } = estimate(prices, units, size);
    expect(lines.slice(2).map(({ kind, quantity, nanoUsd }) => [kind, quantity, nanoUsd])).toEqual([
      ['request', 1, 1_000_000n],
      ['web_search', 5, 50_000_000n],
    ]);
    expect([call, all]).toEqual([51_000_000n, 510_000_000n]);
  });

  it('replaces invalid values by the defaults', () => {
    expect(readSize({ input: '-1', cached: '1e9', output: 'x', calls: ['7', '8'] }, [])).toEqual({ ...sizeDefault, calls: 7 });
    expect(readSize({ calls: '9999999999' }, []).calls).toBe(1_000_000_000);
  });
});

describe('the language of a page', () => {
  it('is the one in its address, which links keep, otherwise the browser’s', () => {
    expect(pageLanguageOf({ q: 'a b', with: ['tools', 'image'] }, 'zh-CN')).toEqual({
      language: 'zh-CN',
      suffix: '',
      otherHref: '?q=a+b&with=tools&with=image&lang=en',
    });
    expect(pageLanguageOf({ lang: 'zh-CN' }, 'en')).toEqual({ language: 'zh-CN', suffix: '?lang=zh-CN', otherHref: '?lang=en' });
    for (const lang of ['', 'fr', '"><script>', ['fr', 'en']])
      expect(pageLanguageOf({ lang }, 'en')).toMatchObject({ language: 'en', suffix: '' });
  });
});

describe('a page whose address is also a route of the API', () => {
  it('tells caches by which headers one of the two is chosen', async () => {
    const varies: string[] = [];
    const ctx = { vary: (fields: string | string[]) => void varies.push(...[fields].flat()), get: () => '', accepts: () => 'html' };
    await unlessApi(async () => undefined)(ctx as unknown as Context, async () => undefined);
    expect(varies).toEqual(['accept', 'authorization', 'x-api-key']);
  });
});

describe('the pages of a gateway that has not received the catalog', () => {
  const deps = {
    models: createModelReplica({} as Parameters<typeof createModelReplica>[0]),
    performance: { read: async () => new Map() },
    config: { publicUrl: 'https://ai.example.com', landingPage: true, catalogSandbox: true },
  } as unknown as PageDeps;

  async function visit(page: Middleware, path: string): Promise<{ status: number; headers: Record<string, string>; body: string }> {
    const ctx = {
      status: 200,
      body: '',
      path,
      query: {},
      params: { id: 'acme/fast' },
      headers: {} as Record<string, string>,
      cookies: { get: () => undefined },
      vary: () => undefined,
      acceptsLanguages: () => 'en',
      get: () => '',
      set(fields: Record<string, string>) {
        Object.assign(ctx.headers, fields);
      },
    };
    await page(ctx as unknown as Context, async () => undefined);
    return ctx;
  }

  it('say so instead of showing no models, and are kept by no cache', async () => {
    for (const [page, path] of [
      [catalogHtml(deps), '/models'],
      [modelHtml(deps), '/models/acme/fast'],
    ] as const)
      expect(await visit(page, path)).toMatchObject({
        status: 503,
        headers: { 'retry-after': '5', 'cache-control': 'no-store' },
        body: expect.stringContaining('The models cannot be shown now'),
      });
    await expect(visit(catalogFile(deps, 'csv'), '/models.csv')).rejects.toMatchObject({
      reason: 'service_unavailable',
      retryAfterMs: 5000,
    });
  });

  it('do not count the models on the landing page', async () => {
    const { status, body } = await visit(landingHtml(deps), '/');
    expect(status).toBe(200);
    expect(body).toContain('calls per second');
    expect(body).not.toContain('models that can be called now');
  });
});

describe('robots.txt', () => {
  it.each([
    ['https://ai.example.com', 'Disallow: /v1/\n'],
    ['https://ai.example.com/tollgate', 'Disallow: /tollgate/v1/\n'],
    // From a malformed Host header.
    ['http://a b', 'Disallow: /v1/\n'],
  ])('closes the API of %s', (site, line) => {
    expect(robotsTxt(site)).toContain(line);
    expect(robotsTxt(site)).toContain(`Sitemap: ${site}/sitemap.xml\n`);
  });
});

describe('the catalog as CSV', () => {
  it('quotes cells that need it and starts no formula', () => {
    const model = {
      id: '=cmd()',
      display_name: 'A "b", c',
      owned_by: '',
      lifecycle: 'active',
      available: true,
      max_input_tokens: 1,
      max_tokens: 1,
      usd_per_million_tokens: null,
      unit_prices: [{ unit: 'request', usd: '0.001', max_per_call: 1 }],
      input_modalities: ['text', 'image'],
      features: [],
    };
    const [, line] = catalogCsv([model as unknown as CatalogModel]).split('\r\n');
    expect(line).toBe(`'=cmd(),"A ""b"", c",,active,true,1,1,,,,,,,request=0.001,text image,,,,,,,,,,,`);
  });

  it('has what was measured, and empty cells where there were too few calls', async () => {
    const model = Model.fromPartial({ id: 'acme/fast', state: ModelState.MODEL_STATE_ACTIVE });
    const lastWeek = { availableBasisPoints: 9995, firstOutput: { p50Ms: 300, p95Ms: 900 } };
    const deps = {
      models: { list: () => [model], isServed: () => true },
      config: { catalogSandbox: true },
      performance: { read: async () => new Map([[model.id, ModelPerformance.fromPartial({ modelId: model.id, lastWeek })]]) },
    } as unknown as PageDeps;
    const read = async (format: 'json' | 'csv'): Promise<unknown> => {
      const ctx = { query: {}, set: () => undefined, body: undefined as unknown };
      await catalogFile(deps, format)(ctx as unknown as Parameters<ReturnType<typeof catalogFile>>[0], async () => undefined);
      return ctx.body;
    };
    expect(await read('json')).toMatchObject({
      data: [
        { id: 'acme/fast', performance: { last_24h: null, last_7d: { available_percent: 99.95, first_token_ms: { p50: 300, p95: 900 } } } },
      ],
    });
    const [names, cells] = String(await read('csv'))
      .split('\r\n')
      .map((line) => line.split(','));
    const figures = Object.fromEntries(names!.map((name, index) => [name, cells![index]]).filter(([name]) => name!.startsWith('last_')));
    expect(figures).toMatchObject({
      last_24h_available_percent: '',
      last_7d_available_percent: '99.95',
      last_7d_first_token_ms_p95: '900',
    });
    expect(Object.keys(figures)).toHaveLength(10);
  });
});
