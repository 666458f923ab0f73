// One model as a page: limits, prices of every class and their history, a calculator, and sample calls that work unchanged.
import { formatUsd } from '#rules/money/money.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { requestUnit } from '#rules/money/pricing.js';
import type { CatalogModel, PerformancePeriodView, UnitPrices } from '../../formats/models-schema.js';
import { pausedUntil, tags } from './catalog-page.js';
import { estimate, type Size, sizeDefault, type SizeField, unitField } from './estimate.js';
import { type Html, html } from '../html.js';
import type { PageLanguage } from '../language.js';
import { page, type Place } from '../page.js';
import { samples } from '../samples.js';
import { type Texts, textsOf } from '../texts.js';
import { count, digitsOf, unitName, usd } from '../words.js';

/** Returns the page. `history` has the newest price first; undefined if it could not be read. */
export function modelPage(options: {
  model: CatalogModel;
  history: readonly PriceVersion[] | undefined;
  size: Size;
  place: Place;
  nowMs: number;
  pageLanguage: PageLanguage;
}): string {
  const { model, history, size, place, nowMs, pageLanguage } = options;
  const { root } = place;
  const t = textsOf(pageLanguage.language);
  return page({
    title: `${model.display_name} · Tollgate`,
    description:
      model.description === '' ? t.modelDescription(model.display_name) : `${model.description} ${t.modelDescription(model.display_name)}`,
    place,
    pageLanguage,
    content: html`<h1>${model.display_name}</h1>
      <p>
        <code>${model.id}</code
        >${model.aliases.length === 0 ? '' : html` <span class="soft">${t.alsoAs} ${model.aliases.map((alias, index) => html`${index === 0 ? '' : ', '}<code>${alias}</code>`)}</span>`}
      </p>
      <p>${tags(model, t)}</p>
      <p class="lead">${model.description}</p>
      ${model.paused === undefined ? '' : html`<p class="warn">${pausedUntil(model.paused, t)}${model.paused.reason === '' ? '' : `: ${model.paused.reason}`}</p>`}
      ${model.available && model.usd_per_million_tokens !== null ? html`<p><a class="action" href="${root}console/playground?model=${encodeURIComponent(model.id)}">${t.tryIt}</a></p>` : ''}
      <h2>${t.limits}</h2>
      <p>
        ${model.max_tokens === 0 ? t.inputLimit(count(model.max_input_tokens)) : t.limitsAre(count(model.max_input_tokens), count(model.max_tokens))}
      </p>
      ${performanceTable(model.performance, t)}
      <h2>${t.prices}</h2>
      ${
        model.usd_per_million_tokens === null
          ? html`<p class="warn">${t.unpriced}</p>`
          : html`${priceTable(model.usd_per_million_tokens, t)} ${unitTable(model.unit_prices, t)}
              <p>
                ${t.exampleCostOf(count(sizeDefault.input), count(sizeDefault.output))}:
                <strong>${usd(formatUsd(estimate(model.usd_per_million_tokens, model.unit_prices, sizeDefault).call))}</strong>
              </p>`
      }
      ${model.usd_per_million_tokens === null ? '' : calculator(model.usd_per_million_tokens, model.unit_prices, size, pageLanguage, t)}
      ${historyOf(history, nowMs, t)}
      <h2>${t.callIt}</h2>
      <p>${t.keyAdvice}</p>
      ${samples(model, place.site, t)}`,
  });
}

/** Returns the page for a name that no model has. */
export function unknownModelPage(name: string, place: Place, pageLanguage: PageLanguage): string {
  const { root } = place;
  const t = textsOf(pageLanguage.language);
  const search = `?q=${encodeURIComponent(name)}${pageLanguage.suffix.replace('?', '&')}`;
  return page({
    title: `${t.unknownTitle} · Tollgate`,
    description: t.unknownDescription,
    place,
    pageLanguage,
    content: html`<h1>${t.unknownTitle}</h1>
      <p>
        ${t.unknownBefore} <code>${name}</code> ${t.unknownAfter} <a href="${root}models${search}">${t.unknownSearch}</a> ${t.unknownOr}
        <a href="${root}models${pageLanguage.suffix}">${t.unknownAll}</a>${t.unknownEnd}
      </p>`,
  });
}

/** Returns what was measured; nothing without enough calls. */
function performanceTable(performance: CatalogModel['performance'], t: Texts): Html | string {
  if (performance === undefined) return '';
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  const { last_24h: day, last_7d: week } = performance;
  const rows: [string, (period: PerformancePeriodView) => string | undefined][] = [
    [t.availability, ({ available_percent: percent }) => `${percent.toFixed(2)}%`],
    [t.firstTokenP50, ({ first_token_ms: ms }) => (ms?.p50 === undefined ? undefined : seconds(ms.p50))],
    [t.firstTokenP95, ({ first_token_ms: ms }) => (ms?.p95 === undefined ? undefined : seconds(ms.p95))],
    [t.speedP50, ({ output_tokens_per_second: speed }) => speed?.p50.toString()],
    [t.speedP5, ({ output_tokens_per_second: speed }) => speed?.p5.toString()],
  ];
  const shown = (period: PerformancePeriodView | null, of: (period: PerformancePeriodView) => string | undefined): string =>
    (period === null ? undefined : of(period)) ?? '–';
  return html`<h2>${t.measured}</h2>
    <table class="pairs">
      <caption>
        ${t.measuredHow}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t.measure}</th>
          <th scope="col" class="n">${t.lastDay}</th>
          <th scope="col" class="n">${t.lastWeek}</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([label, of]) =>
            html`<tr>
              <th scope="row">${label}</th>
              <td class="n">${shown(day, of)}</td>
              <td class="n">${shown(week, of)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
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
  const digits = digitsOf(rows.map(([, price]) => price));
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
            <td class="n">${isOutputs === true ? html`<span class="soft">${t.asOutput}</span> ` : ''}${usd(price, digits)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** Returns the prices of units that are not tokens. */
function unitTable(unitPrices: UnitPrices, t: Texts): Html | string {
  if (unitPrices.length === 0) return '';
  const digits = digitsOf(unitPrices.map((each) => each.usd));
  return html`<table class="pairs">
    <caption>
      ${t.perUnit}
    </caption>
    <thead>
      <tr>
        <th scope="col">${t.unit}</th>
        <th scope="col" class="n">${t.price}</th>
      </tr>
    </thead>
    <tbody>
      ${unitPrices.map(
        ({ unit, usd: price, max_per_call: max }) =>
          html`<tr>
            <th scope="row">${unitName(unit, t)}</th>
            <td class="n">
              ${unit === requestUnit ? '' : html`<span class="soft">${t.atMostPerCall(count(max))}</span> `}${usd(price, digits)}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function calculator(prices: Prices, unitPrices: UnitPrices, size: Size, { suffix, language }: PageLanguage, t: Texts): Html {
  const { lines, call, all } = estimate(prices, unitPrices, size);
  const digits = digitsOf([...lines.map(({ nanoUsd }) => nanoUsd), call].map(formatUsd));
  const priceDigits = digitsOf(lines.map((line) => line.usd));
  const unitInput = ({ unit, max_per_call: max }: UnitPrices[number]): Html | string =>
    unit === requestUnit
      ? ''
      : html`<label
          >${t.unitsPerCall(unitName(unit, t))}<input
            type="number"
            name="${unitField(unit)}"
            value="${size.units.get(unit) ?? 0}"
            min="0"
            max="${max}"
            step="1"
            required
        /></label>`;
  const nameOf = (kind: string): string => (Object.hasOwn(t.classes, kind) ? t.classes[kind as keyof Texts['classes']] : unitName(kind, t));
  const field = (name: SizeField): Html =>
    html`<label
      >${t.fields[name]}<input type="number" name="${name}" value="${size[name]}" min="0" max="1000000000" step="1" required
    /></label>`;
  return html`<h2 id="calculator">${t.calculator}</h2>
    <form class="panel" method="get" data-live="calculation">
      ${suffix === '' ? '' : html`<input type="hidden" name="lang" value="${language}" />`}${field('input')}${field('cached')}${field('written')}${field('written1h')}${field('output')}${prices.reasoning === undefined ? '' : field('reasoning')}${unitPrices.map(unitInput)}${field('calls')}<button
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
            <th scope="col">${t.unit}</th>
            <th scope="col" class="n">${t.howMany}</th>
            <th scope="col" class="n">${unitPrices.length === 0 ? t.usdPerMillion : t.usdPerMillionOrUnit}</th>
            <th scope="col" class="n">USD</th>
          </tr>
        </thead>
        <tbody>
          ${lines.map(
            (line) =>
              html`<tr>
                <th scope="row">${nameOf(line.kind)}</th>
                <td class="n" data-label="${t.howMany}">${count(line.quantity)}</td>
                <td class="n" data-label="${t.usdPerMillion}">${usd(line.usd, priceDigits)}</td>
                <td class="n" data-label="${t.cost}">${usd(formatUsd(line.nanoUsd), digits)}</td>
              </tr>`,
          )}
          <tr>
            <th scope="row">${t.oneCall}</th>
            <td></td>
            <td></td>
            <td class="n" data-label="${t.cost}">${usd(formatUsd(call), digits)}</td>
          </tr>
        </tbody>
      </table>
      <p>${t.suchCalls(count(size.calls))} <output>${usd(formatUsd(all))}</output></p>
    </div>`;
}

function historyOf(history: readonly PriceVersion[] | undefined, nowMs: number, t: Texts): Html | string {
  if (history === undefined)
    return html`<h2>${t.history}</h2>
      <p class="soft">${t.historyUnavailable}</p>`;
  if (history.length === 0) return '';
  const inForce = history.find((price) => Number(price.effectiveFromMs) <= nowMs);
  const units = [...new Set(history.flatMap((price) => price.units.map(({ unit }) => unit)))];
  const unitOf = (unit: string, price: PriceVersion): bigint | undefined => price.units.find((each) => each.unit === unit)?.nanoUsd;
  const columns: { name: string; of(price: PriceVersion): bigint | undefined; missing: string }[] = [
    { name: t.input, of: (price) => price.inputNanoUsdPerMtok, missing: '' },
    { name: t.cacheRead, of: (price) => price.cacheReadNanoUsdPerMtok, missing: '' },
    { name: t.cacheWrite5m, of: (price) => price.cacheWrite5mNanoUsdPerMtok, missing: '' },
    { name: t.cacheWrite1h, of: (price) => price.cacheWrite1hNanoUsdPerMtok, missing: '' },
    { name: t.output, of: (price) => price.outputNanoUsdPerMtok, missing: '' },
    { name: t.reasoning, of: (price) => price.reasoningNanoUsdPerMtok, missing: t.asOutput },
    ...units.map((unit) => ({ name: unitName(unit, t), of: (price: PriceVersion) => unitOf(unit, price), missing: '–' })),
  ];
  const cellsOf = columns.map(({ name, of, missing }) => {
    const digits = digitsOf(history.map((price) => formatUsd(of(price) ?? 0n)));
    return (price: PriceVersion): Html => {
      const nanoUsd = of(price);
      return html`<td class="n" data-label="${name}">
        ${nanoUsd === undefined ? html`<span class="soft">${missing}</span>` : usd(formatUsd(nanoUsd), digits)}
      </td>`;
    };
  });
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
      ${cellsOf.map((cell) => cell(price))}
    </tr>`;
  };
  return html`<h2>${t.history}</h2>
    <table>
      <caption>
        ${units.length === 0 ? t.historyCaption : t.historyOfUnitsCaption}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t.from}</th>
          ${columns.map(({ name }) => html`<th scope="col" class="n">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${history.map(row)}
      </tbody>
    </table>`;
}
