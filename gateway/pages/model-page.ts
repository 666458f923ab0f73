// One model as a page: limits, prices of every class and their history, a calculator, and sample calls that work unchanged.
import { formatUsd } from '#rules/money.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { CatalogModel } from '../formats/models-schema.js';
import { tags } from './catalog-page.js';
import { estimate, type Size, sizeDefault } from './estimate.js';
import { type Html, html } from './html.js';
import type { Speech } from './language.js';
import { page, type Place } from './page.js';
import { samples } from './samples.js';
import { type Texts, textsOf } from './texts.js';
import { count, usd } from './words.js';

/** Returns the page. `history` has the newest price first; undefined if it could not be read. */
export function modelPage(options: {
  model: CatalogModel;
  history: readonly PriceVersion[] | undefined;
  size: Size;
  place: Place;
  nowMs: number;
  speech: Speech;
}): string {
  const { model, history, size, place, nowMs, speech } = options;
  const { root } = place;
  const t = textsOf(speech.language);
  return page({
    title: `${model.display_name} · Tollgate`,
    description:
      model.description === '' ? t.modelDescription(model.display_name) : `${model.description} ${t.modelDescription(model.display_name)}`,
    place,
    speech,
    content: html`<h1>${model.display_name}</h1>
      <p>
        <code>${model.id}</code
        >${model.aliases.length === 0 ? '' : html` <span class="soft">${t.alsoAs} ${model.aliases.map((alias, index) => html`${index === 0 ? '' : ', '}<code>${alias}</code>`)}</span>`}
      </p>
      <p>${tags(model, t)}</p>
      <p class="lead">${model.description}</p>
      ${model.available && model.usd_per_million_tokens !== null ? html`<p><a class="action" href="${root}console/playground?model=${encodeURIComponent(model.id)}">${t.tryIt}</a></p>` : ''}
      <h2>${t.limits}</h2>
      <p>${t.limitsAre(count(model.max_input_tokens), count(model.max_tokens))}</p>
      <h2>${t.prices}</h2>
      ${
        model.usd_per_million_tokens === null
          ? html`<p class="warn">${t.unpriced}</p>`
          : html`${priceTable(model.usd_per_million_tokens, t)}
              <p>
                ${t.exampleCostOf(count(sizeDefault.input), count(sizeDefault.output))}:
                <strong>${usd(formatUsd(estimate(model.usd_per_million_tokens, sizeDefault).call))}</strong>
              </p>`
      }
      ${model.usd_per_million_tokens === null ? '' : calculator(model.usd_per_million_tokens, size, speech, t)}
      ${historyOf(history, nowMs, t)}
      <h2>${t.callIt}</h2>
      <p>${t.keyAdvice}</p>
      ${samples(model.id, place.site, t)}`,
  });
}

/** Returns the page for a name that no model has. */
export function unknownModelPage(name: string, place: Place, speech: Speech): string {
  const { root } = place;
  const t = textsOf(speech.language);
  const search = `?q=${encodeURIComponent(name)}${speech.suffix.replace('?', '&')}`;
  return page({
    title: `${t.unknownTitle} · Tollgate`,
    description: t.unknownDescription,
    place,
    speech,
    content: html`<h1>${t.unknownTitle}</h1>
      <p>
        ${t.unknownBefore} <code>${name}</code> ${t.unknownAfter} <a href="${root}models${search}">${t.unknownSearch}</a> ${t.unknownOr}
        <a href="${root}models${speech.suffix}">${t.unknownAll}</a>${t.unknownEnd}
      </p>`,
  });
}

type Prices = NonNullable<CatalogModel['usd_per_million_tokens']>;

function priceTable(prices: Prices, t: Texts): Html {
  const { classes } = t;
  const rows: [string, string, boolean?][] = [
    [classes.input, prices.input],
    [classes.cached, prices.cache_read],
    [classes.written, prices.cache_write_5m],
    [classes.written1h, prices.cache_write_1h],
    [classes.output, prices.output],
    [classes.reasoning, prices.reasoning ?? prices.output, prices.reasoning === undefined],
  ];
  return html`<table class="pairs">
    <caption>
      ${t.perMillion}
    </caption>
    <thead>
      <tr>
        <th scope="col">${t.tokens}</th>
        <th scope="col" class="n">${t.price}</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ([label, price, isOutputs]) =>
          html`<tr>
            <th scope="row">${label}</th>
            <td class="n">${usd(price)}${isOutputs === true ? html` <span class="soft">${t.asOutput}</span>` : ''}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function calculator(prices: Prices, size: Size, { suffix, language }: Speech, t: Texts): Html {
  const { lines, call, all } = estimate(prices, size);
  const field = (name: keyof Size): Html =>
    html`<label
      >${t.fields[name]}<input type="number" name="${name}" value="${size[name]}" min="0" max="1000000000" step="1" required
    /></label>`;
  return html`<h2 id="calculator">${t.calculator}</h2>
    <form class="panel" method="get" data-live="calculation">
      ${suffix === '' ? '' : html`<input type="hidden" name="lang" value="${language}" />`}${field('input')}${field('cached')}${field('written')}${field('written1h')}${field('output')}${prices.reasoning === undefined ? '' : field('reasoning')}${field('calls')}<button
        class="first unscripted"
      >
        ${t.calculate}
      </button>
    </form>
    <div id="calculation">
      <table>
        <caption>
          ${t.oneCall}
        </caption>
        <thead>
          <tr>
            <th scope="col">${t.tokens}</th>
            <th scope="col" class="n">${t.howMany}</th>
            <th scope="col" class="n">${t.usdPerMillion}</th>
            <th scope="col" class="n">USD</th>
          </tr>
        </thead>
        <tbody>
          ${lines.map(
            (line) =>
              html`<tr>
                <th scope="row">${t.classes[line.kind]}</th>
                <td class="n" data-label="${t.tokens}">${count(line.tokens)}</td>
                <td class="n" data-label="${t.usdPerMillion}">${usd(line.usdPerMtok)}</td>
                <td class="n" data-label="${t.cost}">${usd(formatUsd(line.nanoUsd))}</td>
              </tr>`,
          )}
          <tr>
            <th scope="row">${t.oneCall}</th>
            <td></td>
            <td></td>
            <td class="n" data-label="${t.cost}">${usd(formatUsd(call))}</td>
          </tr>
        </tbody>
      </table>
      <p>${t.suchCalls(count(size.calls))} <output>${usd(formatUsd(all))}</output></p>
    </div>`;
}

function historyOf(history: readonly PriceVersion[] | undefined, nowMs: number, t: Texts): Html | string {
  if (history === undefined || history.length === 0) return '';
  const inForce = history.find((price) => Number(price.effectiveFromMs) <= nowMs);
  const cell = (label: string, nanoUsd: bigint | undefined): Html =>
    html`<td class="n" data-label="${label}">
      ${nanoUsd === undefined ? html`<span class="soft">${t.asOutput}</span>` : usd(formatUsd(nanoUsd))}
    </td>`;
  const row = (price: PriceVersion): Html => {
    const from = new Date(Number(price.effectiveFromMs)).toISOString();
    const mark =
      price === inForce
        ? html` <span class="tag">${t.inForce}</span>`
        : Number(price.effectiveFromMs) > nowMs
          ? html` <span class="tag">${t.toCome}</span>`
          : '';
    return html`<tr>
      <th scope="row"><time datetime="${from}">${from.slice(0, 16).replace('T', ' ')} UTC</time>${mark}</th>
      ${cell(t.input, price.inputNanoUsdPerMtok)}${cell(t.cacheRead, price.cacheReadNanoUsdPerMtok)}${cell(t.cacheWrite5m, price.cacheWrite5mNanoUsdPerMtok)}${cell(t.cacheWrite1h, price.cacheWrite1hNanoUsdPerMtok)}${cell(t.output, price.outputNanoUsdPerMtok)}${cell(t.reasoning, price.reasoningNanoUsdPerMtok)}
    </tr>`;
  };
  const heads = [t.input, t.cacheRead, t.cacheWrite5m, t.cacheWrite1h, t.output, t.reasoning].map(
    (head) => html`<th scope="col" class="n">${head}</th>`,
  );
  return html`<h2>${t.history}</h2>
    <table>
      <caption>
        ${t.historyCaption}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t.from}</th>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${history.map(row)}
      </tbody>
    </table>`;
}
