// The docs as HTML: a page for each text, the results of a search, and pages for addresses without one. Pure.
import { type Html, html } from '../pages/html.js';
import { page } from '../pages/page.js';
import { type Rendered, renderMarkdown } from './markdown.js';
import { once } from './once.js';
import { type Audience, audiences, type DocPage } from './doc-page.js';
import { sitePlaceholder } from './placeholders.js';
import type { Found } from './search.js';

/** A page whose Markdown is parsed when it is first shown: parsing all of them takes a tenth of a second. */
export interface RenderedPage extends DocPage {
  readonly title: string;
  rendered(): Rendered;
}

/** Returns all pages, with links between them. Reads those without a title, and throws if the first line of one is no heading. */
export function renderPages(pages: readonly DocPage[]): RenderedPage[] {
  const names = new Set(pages.map(({ name }) => name));
  return pages.map((each) => {
    const title = each.title ?? /^# (.+)/.exec(each.markdown())?.[1];
    if (title === undefined) throw new Error(`The page ${each.name} of the docs does not begin with a heading.`);
    return { ...each, title, rendered: once(() => renderMarkdown(each.markdown(), names, each.name)) };
  });
}

// A page with fewer sections needs no table of contents.
const sectionsMin = 3;

/** Returns the page at `/docs/<name>`. `readable` are the pages that its reader may read. */
export function docHtml(shown: RenderedPage, readable: readonly RenderedPage[]): string {
  const { name, title, description } = shown;
  const { sections, content } = shown.rendered();
  const contents = html`<nav class="toc" aria-label="On this page">
    <ul>
      ${sections.map((each) => html`<li><a href="#${each.anchor}">${each.title}</a></li>`)}
    </ul>
  </nav>`;
  // Only the last segment of the name, because the link is relative and a page may be below another.
  const file = `${name.slice(name.lastIndexOf('/') + 1)}.md`;
  return docsPage({
    title,
    description,
    path: `docs/${name}`,
    readable,
    article: html`<h1>${title}</h1>
      <p class="soft"><a href="${file}">This page as Markdown</a></p>
      ${sections.length < sectionsMin ? '' : contents} ${content} ${neighbours(shown, readable)}`,
  });
}

/**
 * Returns a page of the docs, with the list of pages and the search next to its article.
 * @param path its address below the root.
 */
export function docsPage(options: {
  title: string;
  description: string;
  path: string;
  isUnlisted?: boolean;
  readable: readonly RenderedPage[];
  article: Html;
  query?: string;
}): string {
  const { title, description, path, isUnlisted = false, readable, article, query } = options;
  const root = '../'.repeat(path.split('/').length - 1) || './';
  const current = path.replace(/^docs\/?/, '');
  const link = (each: RenderedPage): Html =>
    html`<li>
      <a href="${root}docs/${each.name}" ${isAt(each.name, current) ? html` aria-current="page"` : ''}>${each.menu ?? each.title}</a>
    </li>`;
  const group = (audience: Audience): Html | string => {
    const own = readable.filter((each) => each.isListed && each.audience === audience);
    return own.length === 0
      ? ''
      : html`<p id="for-${audience}">${audiences[audience]}</p>
          <ul aria-labelledby="for-${audience}">
            ${own.map(link)}
          </ul>`;
  };
  return page({
    title: `${title} · Tollgate`,
    description,
    place: { root, site: sitePlaceholder, path, isUnlisted },
    content: html`<div class="docs">
      <div class="search">
        <form
          action="${root}docs/search"
          role="search"
          aria-label="Docs"
          data-live="results"
          ${query === undefined ? html` data-stays` : ''}
        >
          <input type="search" name="q" value="${query}" placeholder="Search the docs" aria-label="Search the docs" maxlength="100" />
          <button class="unscripted">Search</button>
        </form>
        ${query === undefined ? html`<div id="results" class="found"></div>` : ''}
        <p class="menu"><a href="#pages">All pages</a></p>
      </div>
      <article>${article}</article>
      <nav class="pages" id="pages" aria-label="Docs">
        <ul>
          <li><a href="${root}docs" ${current === '' ? html` aria-current="page"` : ''}>Quick start</a></li>
        </ul>
        ${(Object.keys(audiences) as Audience[]).map(group)}
      </nav>
    </div>`,
  });
}

/** Whether a page, or an unlisted one below it, is shown. */
function isAt(name: string, current: string): boolean {
  return name === current || current.startsWith(`${name.replace(/\/index$/, '')}/`);
}

/** Returns links to the pages before and after a listed page. */
function neighbours({ name, isListed }: RenderedPage, readable: readonly RenderedPage[]): Html | string {
  if (!isListed) return '';
  const listed = readable.filter((each) => each.isListed);
  const index = listed.findIndex((each) => each.name === name);
  const up = '../'.repeat(name.split('/').length - 1);
  const link = (each: RenderedPage | undefined, rel: 'prev' | 'next', label: string): Html | string =>
    each === undefined ? '' : html`<a href="${up}${each.name}" rel="${rel}"><span>${label}</span>${each.title}</a>`;
  return html`<nav class="next" aria-label="Previous and next page">
    ${link(listed[index - 1], 'prev', 'Previous')}${link(listed[index + 1], 'next', 'Next')}
  </nav>`;
}

/** Returns the page of search results. */
export function searchHtml(query: string, found: readonly Found[], readable: readonly RenderedPage[]): string {
  return docsPage({
    title: 'Search',
    description: 'Search the docs.',
    path: 'docs/search',
    isUnlisted: true,
    readable,
    query,
    article: html`<h1>Search</h1>
      <div id="results" class="found">
        ${
          query === ''
            ? html`<p>Enter a word, the reason of an error or the name of a setting.</p>`
            : found.length === 0
              ? html`<p role="status">Nothing matches “${query}”.</p>`
              : html`<ol>
                  ${found.map(
                    ({ address, page: title, section, excerpt }) =>
                      html`<li>
                        <a href="../docs/${address}">${title}${section === '' ? '' : `: ${section}`}</a>
                        <p>${excerpt.map((part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part))}</p>
                      </li>`,
                  )}
                </ol>`
        }
      </div>`,
  });
}

/** Returns the page for an address without a page, or with one that its reader may not read. `path` is the address below the root. */
export function noDocHtml(path: string, readable: readonly RenderedPage[], isForOperators: boolean): string {
  const root = '../'.repeat(path.split('/').length - 1) || './';
  const text = isForOperators
    ? html`<h1>Sign in to read this page</h1>
        <p>
          This page is for operators of this installation. <a href="${root}console/sign-in">Sign in</a> as an operator, then open it again.
        </p>`
    : html`<h1>No such page</h1>
        <p>The docs have no page <code>${path.replace(/^docs\//, '')}</code>. Search, or choose one from the list.</p>`;
  return docsPage({
    title: isForOperators ? 'Sign in to read this page' : 'No such page',
    description: 'The docs have no such page.',
    path,
    isUnlisted: true,
    readable,
    article: text,
  });
}
