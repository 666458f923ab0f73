// Two to four models side by side: limits, capabilities, prices and the cost of an example call.
import { formatUsd } from '#rules/money/money.js';
import type { CatalogModel } from '../../formats/models-schema.js';
import { modelAddress, tags } from './catalog-page.js';
import { estimate, sizeDefault } from './estimate.js';
import { type Html, html } from '../html.js';
import type { PageLanguage } from '../language.js';
import { page, type Place } from '../page.js';
import { textsOf } from '../texts.js';
import { count, digitsOf, unitName, usd } from '../words.js';

/** The most models that are compared at once. */
export const comparedMax = 4;

/** Returns the page. */
export function comparePage({
  models,
  place,
  pageLanguage,
}: {
  models: readonly CatalogModel[];
  place: Place;
  pageLanguage: PageLanguage;
}): string {
  const t = textsOf(pageLanguage.language);
  const row = (label: string, value: (model: CatalogModel) => Html | string): Html =>
    html`<tr>
      <th scope="row">${label}</th>
      ${models.map((model) => html`<td data-label="${model.display_name}">${value(model)}</td>`)}
    </tr>`;
  /** A row of amounts, which have as many decimals. */
  const amounts = (label: string, amount: (model: CatalogModel) => string | undefined, missing: Html | string): Html => {
    const digits = digitsOf(models.map((model) => amount(model) ?? '0'));
    return row(label, (model) => {
      const decimal = amount(model);
      return decimal === undefined ? missing : usd(decimal, digits);
    });
  };
  const price = (label: string, pick: (prices: NonNullable<CatalogModel['usd_per_million_tokens']>) => string): Html =>
    amounts(
      label,
      ({ usd_per_million_tokens: prices }) => (prices === null ? undefined : pick(prices)),
      html`<span class="soft">${t.noPrice}</span>`,
    );
  const units = [...new Set(models.flatMap((model) => model.unit_prices.map(({ unit }) => unit)))];
  return page({
    title: `${t.compareTitle} · Tollgate`,
    description: t.compareDescription,
    place,
    pageLanguage,
    content: html`<h1>${t.compareTitle}</h1>
      <p><a href="${place.root}models${pageLanguage.suffix}">${t.allModels}</a></p>
      <table class="compared">
        <caption>
          ${t.catalogCaption}
        </caption>
        <thead>
          <tr>
            <td></td>
            ${models.map(
              (model) =>
                html`<th scope="col"><a href="${modelAddress(place.root, model.id)}${pageLanguage.suffix}">${model.display_name}</a></th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${row(t.model, ({ id }) => html`<code>${id}</code>`)}${row(t.description, ({ description }) => description || '–')}${row(t.provider, ({ owned_by: provider }) => provider || '–')}${row(t.capabilities, (model) => tags(model, t))}${row(t.context, (model) => count(model.max_input_tokens))}${row(t.outputLimit, (model) => (model.max_tokens === 0 ? '–' : count(model.max_tokens)))}${price(t.input, ({ input }) => input)}${price(
            t.cacheRead,
            (prices) => prices.cache_read,
          )}${price(t.cacheWrite5m, (prices) => prices.cache_write_5m)}${price(t.cacheWrite1h, (prices) => prices.cache_write_1h)}${price(
            t.output,
            (prices) => prices.output,
          )}${price(t.reasoning, (prices) => prices.reasoning ?? prices.output)}${units.map((unit) =>
            amounts(unitName(unit, t), (model) => model.unit_prices.find((each) => each.unit === unit)?.usd, '–'),
          )}${amounts(
            t.exampleCostOf(count(sizeDefault.input), count(sizeDefault.output)),
            ({ usd_per_million_tokens: prices, unit_prices: others }) =>
              prices === null ? undefined : formatUsd(estimate(prices, others, sizeDefault).call),
            '–',
          )}
        </tbody>
      </table>`,
  });
}
