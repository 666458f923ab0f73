// The public catalog as a page: every model with its limits and prices; search, filters and sorting are in the address.
import type { CatalogModel } from '../../formats/models-schema.js';
import { type CatalogQuery, type Order, sorts, writeCatalogQuery, writeSort } from './catalog-query.js';
import { type Html, html } from '../html.js';
import type { PageLanguage } from '../language.js';
import { page, type Place } from '../page.js';
import { type Texts, textsOf } from '../texts.js';
import { count, digitsOf, featureName, unitName, usd } from '../words.js';

/** Returns the page. `all` provides the choices of the filters, `shown` the rows. */
export function catalogPage(options: {
  all: readonly CatalogModel[];
  shown: readonly CatalogModel[];
  query: CatalogQuery;
  place: Place;
  pageLanguage: PageLanguage;
}): string {
  const { all, shown, query, place, pageLanguage } = options;
  const { root } = place;
  const t = textsOf(pageLanguage.language);
  const link = { root, suffix: pageLanguage.suffix };
  const ofSandbox = shown.filter(isOfSandbox);
  const others = shown.filter((model) => !isOfSandbox(model));
  const groups: [title: string | undefined, lead: string, models: readonly CatalogModel[]][] = [
    [undefined, '', others.filter(({ available }) => available)],
    [t.sandboxTitle, t.sandboxLead, ofSandbox],
    [t.unavailableTitle, t.unavailableLead, others.filter(({ available }) => !available)],
  ];
  return page({
    title: `${t.catalogTitle} · Tollgate`,
    description: t.catalogDescription,
    place,
    pageLanguage,
    content: html`<h1>${t.models}</h1>
      <p class="lead">${t.catalogLead} <code>model</code> ${t.catalogLeadEnd}</p>
      ${filters(all, query, t)}
      <p id="count" role="status">${t.modelsOf(count(shown.length), count(all.length))}</p>
      <div id="models">
        <p class="downloads">
          <a href="${root}models.json${writeCatalogQuery(query, { language: undefined })}">JSON</a> ·
          <a href="${root}models.csv${writeCatalogQuery(query, { language: undefined })}">CSV</a>
        </p>
        ${shown.length === 0 ? html`<p>${t.noneFits} <a href="${root}models${pageLanguage.suffix}">${t.showAll}</a></p>` : ''}
        ${groups
          .filter(([, , models]) => models.length > 0)
          .map(
            ([title, lead, models]) =>
              html`${
                title === undefined
                  ? ''
                  : html`<h2>${title}</h2>
                      <p class="soft">${lead}</p>`
              }${table(models, query, link, t)}`,
          )}
      </div>
      <form id="compare" method="get" action="${root}models" class="compare">
        ${hiddenLanguage(query)}<button>${t.compareSelected}</button><span class="soft">${t.compareHint}</span>
      </form>`,
  });
}

/** Whether a model is one of those that come with Tollgate. */
export function isOfSandbox({ owned_by: provider }: CatalogModel): boolean {
  return provider === 'tollgate';
}

function hiddenLanguage({ language }: CatalogQuery): Html | string {
  return language === undefined ? '' : html`<input type="hidden" name="lang" value="${language}" />`;
}

function filters(all: readonly CatalogModel[], query: CatalogQuery, t: Texts): Html {
  const owners = unique(all.map((model) => model.owned_by));
  const needs = unique(all.flatMap((model) => [...model.features, ...model.input_modalities])).filter((need) => need !== 'text');
  return html`<form class="panel" method="get" role="search" data-live="count models">
    ${hiddenLanguage(query)}<label>${t.search}<input type="search" name="q" value="${query.text}" maxlength="100" /></label>
    <label
      >${t.provider}<select name="owner">
        <option value="">${t.anyProvider}</option>
        ${owners.map((owner) => option(owner, owner, owner === query.owner))}
      </select></label
    >
    <label
      >${t.sortBy}<select name="sort">
        ${sorts.map((sort, index) => option(writeSort(sort), t.orders[sort.order][index % 2]!, writeSort(sort) === writeSort(query)))}
      </select></label
    >
    <fieldset>
      <legend>${t.capabilities}</legend>
      ${needs.map((need) => html`<label class="check"><input type="checkbox" name="with" value="${need}" ${query.needs.includes(need) ? html` checked` : ''} />${featureName(need, t)}</label>`)}
    </fieldset>
    <button class="first unscripted">${t.apply}</button>
  </form>`;
}

function option(value: string, label: string, isChosen: boolean): Html {
  return html`<option value="${value}" ${isChosen ? html` selected` : ''}>${label}</option>`;
}

function table(models: readonly CatalogModel[], query: CatalogQuery, link: Link, t: Texts): Html {
  const head = (order: Order, label: string, classes = 'n'): Html => {
    const isOrder = query.order === order;
    const sort = isOrder ? (query.descending ? html` aria-sort="descending"` : html` aria-sort="ascending"`) : '';
    // Choosing the same column again reverses the order; another column starts with its own default.
    const { descending } = isOrder ? { descending: !query.descending } : { descending: order === 'context' };
    return html`<th scope="col" class="${classes}" ${sort}>
      <a href="${link.root}models${writeCatalogQuery(query, { order, descending })}">${label}</a>
    </th>`;
  };
  // The tables of the groups have the same columns, and each column as many decimals in all rows.
  const digits = (pick: (prices: NonNullable<Prices>) => string): number =>
    digitsOf(models.flatMap(({ usd_per_million_tokens: prices }) => (prices === null ? [] : [pick(prices)])));
  const columns: Digits = {
    input: digits(({ input }) => input),
    cacheRead: digits((prices) => prices.cache_read),
    cacheWrite: Math.max(
      digits((prices) => prices.cache_write_5m),
      digits((prices) => prices.cache_write_1h),
    ),
    output: Math.max(
      digits((prices) => prices.output),
      digits((prices) => prices.reasoning ?? prices.output),
    ),
  };
  return html`<table class="models">
    <caption>
      <span class="hidden">${t.catalogCaption}</span>
    </caption>
    <thead>
      <tr>
        ${head('name', t.model, '')}${head('context', t.context)}
        <th scope="col" class="n">${t.outputLimit}</th>
        ${head('input', t.input)}
        <th scope="col" class="n">${t.cacheRead}</th>
        <th scope="col" class="n">${t.cacheWrite}</th>
        ${head('output', t.output)}
      </tr>
    </thead>
    <tbody>
      ${models.map((model) => row(model, columns, link, t))}
    </tbody>
  </table>`;
}

/** The decimals of the columns of prices. */
type Digits = Readonly<Record<'input' | 'cacheRead' | 'cacheWrite' | 'output', number>>;

function row(model: CatalogModel, digits: Digits, link: Link, t: Texts): Html {
  const prices = model.usd_per_million_tokens;
  const price = (label: string, value: string | undefined, decimals: number): Html =>
    html`<td class="n" data-label="${label}">${value === undefined ? noPrice(t) : usd(value, decimals)}</td>`;
  return html`<tr>
    <th scope="row">
      <a href="${modelAddress(link.root, model.id)}${link.suffix}">${model.display_name}</a>
      <span class="id"
        ><code>${model.id}</code
        ><label class="check soft"
          ><input type="checkbox" name="compare" value="${model.id}" form="compare" />${t.compare}<span class="hidden"
            >: ${model.display_name}</span
          ></label
        ></span
      >
      ${tags(model, t)}${unitPrices(model, t)}
    </th>
    <td class="n" data-label="${t.context}">${count(model.max_input_tokens)}</td>
    <td class="n" data-label="${t.outputLimit}">${model.max_tokens === 0 ? '–' : count(model.max_tokens)}</td>
    ${price(t.input, prices?.input, digits.input)}${price(t.cacheRead, prices?.cache_read, digits.cacheRead)}${cacheWrite(prices, digits.cacheWrite, t)}${output(prices, digits.output, t)}
  </tr>`;
}

/** Returns the prices of units that are not tokens, in one line. */
function unitPrices({ unit_prices: prices }: CatalogModel, t: Texts): Html | string {
  if (prices.length === 0) return '';
  return html`<br /><span class="soft"
      >${prices.map(({ unit, usd: price }, index) => html`${index === 0 ? '' : ' · '}${unitName(unit, t)} ${usd(price)}`)}</span
    >`;
}

/** What links are built from: the root of the gateway, and the language. */
interface Link {
  readonly root: string;
  readonly suffix: string;
}

const noPrice = (t: Texts): Html => html`<span class="soft">${t.noPrice}</span>`;

type Prices = CatalogModel['usd_per_million_tokens'];

function cacheWrite(prices: Prices, digits: number, t: Texts): Html {
  const hour =
    prices === null || prices.cache_write_1h === prices.cache_write_5m
      ? ''
      : html`<br /><span class="soft">${t.anHour}</span> ${usd(prices.cache_write_1h, digits)}`;
  return html`<td class="n" data-label="${t.cacheWrite}">${prices === null ? noPrice(t) : usd(prices.cache_write_5m, digits)}${hour}</td>`;
}

function output(prices: Prices, digits: number, t: Texts): Html {
  const reasoning =
    prices?.reasoning === undefined ? '' : html`<br /><span class="soft">${t.ofReasoning}</span> ${usd(prices.reasoning, digits)}`;
  return html`<td class="n" data-label="${t.output}">${prices === null ? noPrice(t) : usd(prices.output, digits)}${reasoning}</td>`;
}

/** Returns until when a model is paused. */
export function pausedUntil({ until }: NonNullable<CatalogModel['paused']>, t: Texts): string {
  return until === null ? t.paused : t.pausedUntil(`${until.slice(0, 16).replace('T', ' ')} UTC`);
}

/** Returns the capabilities of a model, and what is wrong with it. */
export function tags(model: CatalogModel, t: Texts): Html {
  const words = [...model.features, ...model.input_modalities.filter((modality) => modality !== 'text')];
  const state = model.lifecycle === 'active' ? '' : html`<span class="tag warn">${t.lifecycles[model.lifecycle]}</span>`;
  // Marked, so that $0 is not mistaken for a missing price; a model without a price is not free, it is refused.
  const { usd_per_million_tokens: tokenPrices, unit_prices: others } = model;
  const isFree = tokenPrices !== null && [...Object.values(tokenPrices), ...others.map((each) => each.usd)].every((price) => price === '0');
  const free = isFree ? html`<span class="tag">${t.free}</span>` : '';
  const what = model.paused === undefined ? t.notAvailable : pausedUntil(model.paused, t);
  const unavailable = model.available ? '' : html`<span class="tag warn">${what}</span>`;
  return html`${state}${unavailable}${free}${words.map((word) => html`<span class="tag">${featureName(word, t)}</span>`)}`;
}

/** Returns the path of a model's page; slashes in ids are kept. */
export function modelAddress(root: string, id: string): string {
  return `${root}models/${id.split('/').map(encodeURIComponent).join('/')}`;
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)].filter((word) => word !== '').sort();
}
