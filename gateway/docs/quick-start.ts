// The front page of the docs: from a key to the first call and what it cost, then what the docs contain.
import { formatUsd } from '#rules/money/money.js';
import type { CatalogModel } from '../formats/models-schema.js';
import { modelAddress } from '../pages/catalog/catalog-page.js';
import { estimate, sizeDefault } from '../pages/catalog/estimate.js';
import { html } from '../pages/html.js';
import { chatSamples, choices, code } from '../pages/samples.js';
import { count, usd } from '../pages/words.js';
import { docsPage, type RenderedPage } from './html-pages.js';
import { audiences, type Audience } from './doc-page.js';

const introductions: Readonly<Record<Audience, string>> = {
  callers: 'For programmers: client libraries, the API, errors and limits.',
  owners: 'For owners and members of an account: users, projects, budgets and alerts.',
  internal: 'For services on the same network, which call over gRPC.',
  operators: 'For operators: configuration, operation, metrics and runbooks.',
};

/** Returns the page. `model` is the one that the samples call. */
export function quickStartHtml(model: CatalogModel | undefined, site: string, readable: readonly RenderedPage[]): string {
  const id = model?.id ?? 'sandbox/echo';
  const prices = model?.usd_per_million_tokens ?? null;
  const groups = (Object.keys(audiences) as Audience[]).filter((audience) => readable.some((each) => each.audience === audience));
  return docsPage({
    title: 'Docs',
    description: 'How to call this gateway, what a call costs, and what every error means.',
    path: 'docs',
    readable,
    article: html`<h1>Quick start</h1>
      <p class="lead">Three steps: create a key, make a call, see what it cost.</p>
      <h2 id="key">1. Create a key</h2>
      <p>
        <a href="console/">Sign in</a>, open <strong>API keys</strong> and choose <strong>Create key</strong>. The key is shown once. Keep
        it in an environment variable:
      </p>
      ${code('export TOLLGATE_API_KEY=…')}
      <h2 id="call">2. Make a call</h2>
      <p>
        The base URL is <code>${site}/v1</code>. The samples call <a href="${modelAddress('./', id)}">${model?.display_name ?? id}</a>; any
        ID from <a href="models">Models</a> works.
      </p>
      ${choices('call', 'First call', chatSamples(id, site))}
      <p>For Anthropic’s client libraries, the base URL is <code>${site}</code>.</p>
      <h2 id="cost">3. See what it cost</h2>
      <p>
        A response that is not streamed has its cost in the header <code>x-tollgate-charge-usd</code> and its ID in
        <code>x-request-id</code>. The usage record of the call shows the charge line by line:
      </p>
      ${code(`curl ${site}/v1/usage/$REQUEST_ID -H "Authorization: Bearer $TOLLGATE_API_KEY"`)}
      ${
        prices === null
          ? ''
          : html`<p>
              For example, a call of ${model!.display_name} with ${count(sizeDefault.input)} input and ${count(sizeDefault.output)} output
              tokens costs <strong>${usd(formatUsd(estimate(prices, model!.unit_prices, sizeDefault).call))}</strong>.
            </p>`
      }
      <p>The console shows the same under <strong>Usage</strong>. <a href="docs/charging">How calls are charged</a> explains the rules.</p>
      <h2 id="clients">Use your client</h2>
      <p>
        Set the base URL and the key, and keep your code. <a href="docs/clients">Clients</a> compares them; each has a page with tested
        settings:
      </p>
      <ul class="clients">
        ${readable.filter(({ name }) => name.startsWith('clients/')).map(({ name, title }) => html`<li><a href="docs/${name}">${title}</a></li>`)}
      </ul>
      <h2 id="guides">Guides</h2>
      <ul class="cards">
        ${groups.map((audience) => {
          const first = readable.find((each) => each.audience === audience)!;
          return html`<li>
            <a href="docs/${first.name}">${audiences[audience]}</a>
            <p>${introductions[audience]}</p>
          </li>`;
        })}
      </ul>
      <h2 id="programs">For programs</h2>
      <p>
        <a href="llms.txt">llms.txt</a> lists these pages and <a href="llms-full.txt">llms-full.txt</a> contains them all. Every page is
        also Markdown: add <code>.md</code> to its address. <a href="openapi.json">openapi.json</a> describes the API and
        <a href="console/openapi.json">console/openapi.json</a> the API of the console, for import into Postman, Bruno or a code generator.
      </p>`,
  });
}
