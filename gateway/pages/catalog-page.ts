// The public catalog as a page: every model with its limits and prices, searched, filtered and sorted by the address alone.
import type { CatalogModel } from '../formats/models-schema.js';
import { type CatalogQuery, type Order, orders, writeCatalogQuery } from './catalog-query.js';
import { type Html, html } from './html.js';
import { page } from './page.js';
import { count, featureName, usd } from './words.js';

/** The page. `all` gives the choices of the filters, `shown` the rows. */
export function catalogPage(options: { all: readonly CatalogModel[]; shown: readonly CatalogModel[]; query: CatalogQuery; root: string }): string {
  const { all, shown, query, root } = options;
  return page({
    title: 'Models and prices · Tollgate',
    description: 'Every model of this gateway with its context limit and its prices in USD per million tokens.',
    root,
    content: html`<h1>Models</h1>
<p class="soft">Prices in USD per million tokens. Send a model’s id as <code>model</code> to <code>/v1/chat/completions</code> or <code>/v1/messages</code>.</p>
${filters(all, query)}
<p>${shown.length === all.length ? `${count(all.length)} models` : `${count(shown.length)} of ${count(all.length)} models`} ·
<a href="${root}models.json${writeCatalogQuery(query)}">JSON</a> · <a href="${root}models.csv${writeCatalogQuery(query)}">CSV</a></p>
${shown.length === 0 ? html`<p>No model fits. <a href="${root}models">Show all models</a></p>` : table(shown, query, root)}`,
  });
}

function filters(all: readonly CatalogModel[], query: CatalogQuery): Html {
  const owners = unique(all.map((model) => model.owned_by));
  const needs = unique(all.flatMap((model) => [...model.features, ...model.input_modalities])).filter((need) => need !== 'text');
  return html`<form method="get" role="search">
<label>Search<input type="search" name="q" value="${query.text}" maxlength="100"></label>
<label>Made by<select name="owner"><option value="">anybody</option>${owners.map((owner) => option(owner, owner, owner === query.owner))}</select></label>
<label>Sort by<select name="sort">${Object.entries(orders).map(([name, label]) => option(name, label, name === query.order))}</select></label>
<fieldset><legend>Can</legend>${needs.map((need) => html`<label class="check"><input type="checkbox" name="with" value="${need}"${query.needs.includes(need) ? html` checked` : ''}>${featureName(need)}</label>`)}</fieldset>
<button>Show</button>
</form>`;
}

function option(value: string, label: string, isChosen: boolean): Html {
  return html`<option value="${value}"${isChosen ? html` selected` : ''}>${label}</option>`;
}

function table(models: readonly CatalogModel[], query: CatalogQuery, root: string): Html {
  const head = (order: Order, label: string, classes = 'n'): Html => {
    const isOrder = query.order === order;
    const sort = isOrder ? (query.descending ? html` aria-sort="descending"` : html` aria-sort="ascending"`) : '';
    // The same column again turns the order round; another begins with its own.
    const { descending } = isOrder ? { descending: !query.descending } : { descending: order === 'context' };
    return html`<th scope="col" class="${classes}"${sort}><a href="${root}models${writeCatalogQuery(query, { order, descending })}">${label}</a></th>`;
  };
  return html`<table>
<caption>Models with limits in tokens and prices in USD per million tokens</caption>
<thead><tr>${head('name', 'Model', '')}${head('context', 'Context')}<th scope="col" class="n">Output limit</th>${head('input', 'Input')}<th scope="col" class="n">Cache read</th><th scope="col" class="n">Cache write</th>${head('output', 'Output')}</tr></thead>
<tbody>${models.map((model) => row(model, root))}</tbody>
</table>`;
}

function row(model: CatalogModel, root: string): Html {
  const prices = model.usd_per_million_tokens;
  const price = (label: string, value: string | undefined): Html => html`<td class="n" data-label="${label}">${value === undefined ? noPrice : usd(value)}</td>`;
  return html`<tr>
<th scope="row"><a href="${modelAddress(root, model.id)}">${model.display_name}</a><br><code>${model.id}</code><br>${tags(model)}</th>
<td class="n" data-label="Context">${count(model.max_input_tokens)}</td>
<td class="n" data-label="Output limit">${count(model.max_tokens)}</td>
${price('Input', prices?.input)}${price('Cache read', prices?.cache_read)}${cacheWrite(prices)}${output(prices)}
</tr>`;
}

const noPrice = html`<span class="soft">no price yet</span>`;

type Prices = CatalogModel['usd_per_million_tokens'];

function cacheWrite(prices: Prices): Html {
  const hour = prices === null || prices.cache_write_1h === prices.cache_write_5m ? '' : html`<br>${usd(prices.cache_write_1h)} <span class="soft">for 1 h</span>`;
  return html`<td class="n" data-label="Cache write">${prices === null ? noPrice : usd(prices.cache_write_5m)}${hour}</td>`;
}

function output(prices: Prices): Html {
  const reasoning = prices?.reasoning === undefined ? '' : html`<br>${usd(prices.reasoning)} <span class="soft">reasoning</span>`;
  return html`<td class="n" data-label="Output">${prices === null ? noPrice : usd(prices.output)}${reasoning}</td>`;
}

/** What a model can do, and what is the matter with it. */
export function tags(model: CatalogModel): Html {
  const words = [...model.features, ...model.input_modalities.filter((modality) => modality !== 'text')];
  const state = model.lifecycle === 'active' ? '' : html`<span class="tag warn">${model.lifecycle}</span>`;
  // Nobody is to wonder whether $0 is a price that was forgotten; a model without a price is not free, it is refused.
  const isFree = model.usd_per_million_tokens !== null && Object.values(model.usd_per_million_tokens).every((price) => price === '0');
  const free = isFree ? html`<span class="tag">free</span>` : '';
  const away = model.available ? '' : html`<span class="tag warn">not available now</span>`;
  return html`${state}${away}${free}${words.map((word) => html`<span class="tag">${featureName(word)}</span>`)}`;
}

/** Where a model has its page; ids may hold slashes, which stay as they are. */
export function modelAddress(root: string, id: string): string {
  return `${root}models/${id.split('/').map(encodeURIComponent).join('/')}`;
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)].filter((word) => word !== '').sort();
}
