// One model as a page: limits, prices of every class and their history, a calculator, and calls that work as they stand.
import { formatUsd } from '#kit/money.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { CatalogModel } from '../formats/models-schema.js';
import { tags } from './catalog-page.js';
import { estimate, type Size } from './estimate.js';
import { type Html, html } from './html.js';
import { page } from './page.js';
import { count, usd } from './words.js';

/** The page. `history` has the newest price first; undefined when it could not be read. */
export function modelPage(options: { model: CatalogModel; history: readonly PriceVersion[] | undefined; size: Size; root: string; baseUrl: string; nowMs: number }): string {
  const { model, history, size, root, baseUrl, nowMs } = options;
  return page({
    title: `${model.display_name} · Tollgate`,
    description: `${model.display_name}: limits, prices in USD per million tokens, and how to call it.`,
    root,
    content: html`<h1>${model.display_name}</h1>
<p><code>${model.id}</code>${model.aliases.length === 0 ? '' : html` <span class="soft">also as ${model.aliases.map((alias, index) => html`${index === 0 ? '' : ', '}<code>${alias}</code>`)}</span>`}</p>
<p>${tags(model)}</p>
<p>${model.description}</p>
<h2>Limits</h2>
<p>Context ${count(model.max_input_tokens)} tokens, input and output together; one answer at most ${count(model.max_tokens)} tokens.</p>
<h2>Prices</h2>
${model.usd_per_million_tokens === null ? html`<p class="warn">This model has no price in force, and calls of it are refused.</p>` : priceTable(model.usd_per_million_tokens)}
${model.usd_per_million_tokens === null ? '' : calculator(model.usd_per_million_tokens, size)}
${historyOf(history, nowMs)}
${samples(model.id, baseUrl)}`,
  });
}

/** The page for a name that no model has. */
export function unknownModelPage(name: string, root: string): string {
  return page({
    title: 'No such model · Tollgate',
    description: 'This gateway has no such model.',
    root,
    content: html`<h1>No such model</h1><p>There is no model named <code>${name}</code> here. <a href="${root}models?q=${encodeURIComponent(name)}">Search for it</a> or <a href="${root}models">see all models</a>.</p>`,
  });
}

type Prices = NonNullable<CatalogModel['usd_per_million_tokens']>;

function priceTable(prices: Prices): Html {
  const rows: [string, string][] = [
    ['Input', prices.input],
    ['Read from cache', prices.cache_read],
    ['Written to a cache of five minutes', prices.cache_write_5m],
    ['Written to a cache of one hour', prices.cache_write_1h],
    ['Output', prices.output],
    ['Reasoning', prices.reasoning ?? `${prices.output}`],
  ];
  return html`<table><caption>USD per million tokens</caption><thead><tr><th scope="col">Tokens</th><th scope="col" class="n">Price</th></tr></thead>
<tbody>${rows.map(([label, price]) => html`<tr><th scope="row">${label}</th><td class="n">${usd(price)}${label === 'Reasoning' && prices.reasoning === undefined ? html` <span class="soft">as output</span>` : ''}</td></tr>`)}</tbody></table>`;
}

function calculator(prices: Prices, size: Size): Html {
  const { lines, call, all } = estimate(prices, size);
  const field = (name: keyof Size, label: string): Html => html`<label>${label}<input type="number" name="${name}" value="${size[name]}" min="0" max="1000000000" step="1" required></label>`;
  return html`<h2 id="calculator">What would it cost?</h2>
<form method="get" action="#calculator">${field('input', 'Input tokens a call')}${field('cached', 'Read from cache')}${field('written', 'Written to cache, 5 min')}${field('written1h', 'Written to cache, 1 h')}${field('output', 'Output tokens a call')}${prices.reasoning === undefined ? '' : field('reasoning', 'Of it reasoning')}${field('calls', 'Calls')}<button>Calculate</button></form>
<table><caption>One call</caption><thead><tr><th scope="col">Tokens</th><th scope="col" class="n">How many</th><th scope="col" class="n">USD per million</th><th scope="col" class="n">USD</th></tr></thead>
<tbody>${lines.map((line) => html`<tr><th scope="row">${line.label}</th><td class="n" data-label="Tokens">${count(line.tokens)}</td><td class="n" data-label="Per million">${usd(line.usdPerMtok)}</td><td class="n" data-label="Cost">${usd(formatUsd(line.nanoUsd))}</td></tr>`)}
<tr><th scope="row">One call</th><td></td><td></td><td class="n" data-label="Cost">${usd(formatUsd(call))}</td></tr></tbody></table>
<p>${count(size.calls)} such calls: <output>${usd(formatUsd(all))}</output></p>`;
}

function historyOf(history: readonly PriceVersion[] | undefined, nowMs: number): Html | string {
  if (history === undefined || history.length === 0) return '';
  const inForce = history.find((price) => Number(price.effectiveFromMs) <= nowMs);
  const cell = (label: string, nanoUsd: bigint | undefined): Html => html`<td class="n" data-label="${label}">${nanoUsd === undefined ? html`<span class="soft">as output</span>` : usd(formatUsd(nanoUsd))}</td>`;
  const row = (price: PriceVersion): Html => {
    const from = new Date(Number(price.effectiveFromMs)).toISOString();
    const mark = price === inForce ? html` <span class="tag">in force</span>` : Number(price.effectiveFromMs) > nowMs ? html` <span class="tag">to come</span>` : '';
    return html`<tr><th scope="row"><time datetime="${from}">${from.slice(0, 16).replace('T', ' ')} UTC</time>${mark}</th>${cell('Input', price.inputNanoUsdPerMtok)}${cell('Cache read', price.cacheReadNanoUsdPerMtok)}${cell('Cache write, 5 min', price.cacheWrite5mNanoUsdPerMtok)}${cell('Cache write, 1 h', price.cacheWrite1hNanoUsdPerMtok)}${cell('Output', price.outputNanoUsdPerMtok)}${cell('Reasoning', price.reasoningNanoUsdPerMtok)}</tr>`;
  };
  const heads = ['Input', 'Cache read', 'Cache write, 5 min', 'Cache write, 1 h', 'Output', 'Reasoning'].map((head) => html`<th scope="col" class="n">${head}</th>`);
  return html`<h2>Price history</h2>
<table><caption>USD per million tokens, newest first</caption><thead><tr><th scope="col">From</th>${heads}</tr></thead><tbody>${history.map(row)}</tbody></table>`;
}

function samples(id: string, baseUrl: string): Html {
  const curl = `curl ${baseUrl}/v1/chat/completions \\
  -H "Authorization: Bearer $TOLLGATE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"model":"${id}","max_tokens":300,"messages":[{"role":"user","content":"Hello"}]}'`;
  const openai = `import OpenAI from 'openai';
const client = new OpenAI({ baseURL: '${baseUrl}/v1', apiKey: process.env.TOLLGATE_API_KEY });
const answer = await client.chat.completions.create({
  model: '${id}',
  messages: [{ role: 'user', content: 'Hello' }],
});`;
  const anthropic = `import Anthropic from '@anthropic-ai/sdk';
const client = new Anthropic({ baseURL: '${baseUrl}', apiKey: process.env.TOLLGATE_API_KEY });
const answer = await client.messages.create({
  model: '${id}',
  max_tokens: 300,
  messages: [{ role: 'user', content: 'Hello' }],
});`;
  return html`<h2>Call it</h2>
<p>A platform key is a sensitive credential: keep it in an environment variable of a server or in a secret manager, never in code that others can read.</p>
<h3>curl</h3><pre><code>${curl}</code></pre>
<h3>OpenAI’s library</h3><pre><code>${openai}</code></pre>
<h3>Anthropic’s library</h3><pre><code>${anthropic}</code></pre>`;
}
