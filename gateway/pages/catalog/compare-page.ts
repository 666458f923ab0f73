// Two to four models side by side: limits, capabilities, prices and the cost of an example call.
import { formatUsd } from '#rules/money.js';
import type { CatalogModel } from '../../formats/models-schema.js';
import { modelAddress, tags } from './catalog-page.js';
import { estimate, sizeDefault } from './estimate.js';
import { type Html, html } from '../html.js';
import type { Speech } from '../language.js';
import { page, type Place } from '../page.js';
import { textsOf } from '../texts.js';
import { count, unitName, usd } from '../words.js';

/** The most models that are compared at once. */
export const comparedMax = 4;

/** Returns the page. */
export function comparePage({ models, place, speech }: { models: readonly CatalogModel[]; place: Place; speech: Speech }): string {
  const t = textsOf(speech.language);
  const row = (label: string, value: (model: CatalogModel) => Html | string): Html =>
    html`<tr>
      <th scope="row">${label}</th>
      ${models.map((model) => html`<td data-label="${model.display_name}">${value(model)}</td>`)}
    </tr>`;
  const price = (pick: (prices: NonNullable<CatalogModel['usd_per_million_tokens']>) => string | undefined) => (model: CatalogModel) => {
    const { usd_per_million_tokens: prices } = model;
    return prices === null ? html`<span class="soft">${t.noPrice}</span>` : usd(pick(prices) ?? prices.output);
  };
  const units = [...new Set(models.flatMap((model) => model.unit_prices.map(({ unit }) => unit)))];
  const unitPrice =
    (unit: string) =>
    (model: CatalogModel): string => {
      const priced = model.unit_prices.find((each) => each.unit === unit);
      return priced === undefined ? '–' : usd(priced.usd);
    };
  return page({
    title: `${t.compareTitle} · Tollgate`,
    description: t.compareDescription,
    place,
    speech,
    content: html`<h1>${t.compareTitle}</h1>
      <p><a href="${place.root}models${speech.suffix}">${t.allModels}</a></p>
      <table>
        <caption>
          ${t.catalogCaption}
        </caption>
        <thead>
          <tr>
            <td></td>
            ${models.map(
              (model) =>
                html`<th scope="col"><a href="${modelAddress(place.root, model.id)}${speech.suffix}">${model.display_name}</a></th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${row(t.model, ({ id }) => html`<code>${id}</code>`)}${row(t.description, ({ description }) => description || '–')}${row(t.provider, ({ owned_by: provider }) => provider || '–')}${row(t.capabilities, (model) => tags(model, t))}${row(t.context, (model) => count(model.max_input_tokens))}${row(t.outputLimit, (model) => (model.max_tokens === 0 ? '–' : count(model.max_tokens)))}${row(
            t.input,
            price(({ input }) => input),
          )}${row(
            t.cacheRead,
            price(({ cache_read: read }) => read),
          )}${row(
            t.cacheWrite5m,
            price(({ cache_write_5m: write }) => write),
          )}${row(
            t.cacheWrite1h,
            price(({ cache_write_1h: write }) => write),
          )}${row(
            t.output,
            price(({ output }) => output),
          )}${row(
            t.reasoning,
            price(({ reasoning }) => reasoning),
          )}${units.map((unit) => row(unitName(unit, t), unitPrice(unit)))}${row(
            t.exampleCostOf(count(sizeDefault.input), count(sizeDefault.output)),
            ({ usd_per_million_tokens: prices, unit_prices: others }) =>
              prices === null ? '–' : usd(formatUsd(estimate(prices, others, sizeDefault).call)),
          )}
        </tbody>
      </table>`,
  });
}
