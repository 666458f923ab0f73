// The page at the root: what this gateway is, three numbers, and where to go.
import type { CatalogModel } from '../formats/models-schema.js';
import { isOfSandbox } from './catalog/catalog-page.js';
import { readCatalogQuery, selectModels } from './catalog/catalog-query.js';
import { html } from './html.js';
import type { PageLanguage } from './language.js';
import { page, type Place } from './page.js';
import { chatSamples, choices } from './samples.js';
import { textsOf } from './texts.js';
import { count } from './words.js';

/** Whole calls per second on one core, as docs/capacity.md has it; a test compares them. */
export const measuredCallsPerSecond = 2276;

/**
 * Returns the model that samples use: the cheapest that can be called, answers in text and is not free, so that its cost can be seen. The echo of
 * the sandbox if there is no other.
 */
export function sampleModel(models: readonly CatalogModel[]): CatalogModel | undefined {
  const callable = models.filter(
    (model) =>
      model.available &&
      model.lifecycle === 'active' &&
      model.output_modalities.includes('text') &&
      model.usd_per_million_tokens?.output !== '0' &&
      !isOfSandbox(model),
  );
  const cheapest = selectModels(callable, readCatalogQuery({ sort: 'output' }));
  return cheapest[0] ?? models.find(({ id }) => id === 'sandbox/echo');
}

/** Returns the page. `models` is undefined until they can be listed. */
export function landingPage({
  models,
  place,
  pageLanguage,
}: {
  models: readonly CatalogModel[] | undefined;
  place: Place;
  pageLanguage: PageLanguage;
}): string {
  const t = textsOf(pageLanguage.language);
  const { root, site } = place;
  const figure = (value: string, label: string, to: string) =>
    html`<div>
      <dt><a href="${root}${to}">${label}</a></dt>
      <dd>${value}</dd>
    </div>`;
  return page({
    title: t.landingTitle,
    description: t.landingLead,
    place,
    pageLanguage,
    content: html`<div class="hero">
        <h1>${t.landingHeading}</h1>
        <p class="lead">${t.landingLead}</p>
        <p class="actions">
          <a class="action" href="${root}console/sign-in">${t.signIn}</a>
          <a class="action second" href="${root}docs">${t.readDocs}</a>
        </p>
      </div>
      <dl class="cards figures">
        ${models === undefined ? '' : figure(count(models.filter(({ available }) => available).length), t.modelsCallable, `models${pageLanguage.suffix}`)}${figure(count(measuredCallsPerSecond), t.callsPerSecond, 'docs/capacity')}${figure('$0.000000001', t.exactness, 'docs/charging')}
      </dl>
      <h2>${t.firstCall}</h2>
      <p>${t.firstCallLead}</p>
      ${choices('first', t.firstCall, chatSamples(sampleModel(models ?? [])?.id ?? 'sandbox/echo', site))}`,
  });
}
