// The docs as HTML: an index, a page for each text, and one for unknown addresses. Pure.
import { type Html, html } from '../pages/html.js';
import { page } from '../pages/page.js';
import { type Rendered, renderMarkdown } from './markdown.js';
import { once } from './once.js';
import type { DocPage } from './pages.js';

/** A page whose Markdown is parsed when it is first shown: parsing all of them takes a tenth of a second. */
export interface RenderedPage extends DocPage {
  readonly title: string;
  rendered(): Rendered;
}

/** Returns all pages, with links between them. Throws for a page whose first line is no heading. */
export function renderPages(pages: readonly DocPage[]): RenderedPage[] {
  const names = new Set(pages.map(({ name }) => name));
  return pages.map((each) => {
    const title = /^# (.+)/.exec(each.markdown)?.[1];
    if (title === undefined) throw new Error(`The page ${each.name} of the docs does not begin with a heading.`);
    return { ...each, title, rendered: once(() => renderMarkdown(each.markdown, names)) };
  });
}

// A page with fewer sections needs no table of contents.
const sectionsMin = 3;

/** Returns one page, as served at `/docs/<name>`. */
export function docHtml(shown: RenderedPage, pages: readonly RenderedPage[]): string {
  const { name, title, description } = shown;
  const { sections, content } = shown.rendered();
  const contents = html`<nav class="toc" aria-label="On this page">
    <ul>
      ${sections.map((each) => html`<li><a href="#${each.anchor}">${each.title}</a></li>`)}
    </ul>
  </nav>`;
  return page({
    title: `${title} · Tollgate`,
    description,
    root: '../',
    content: html`<div class="docs">
      <nav class="pages" aria-label="Docs">
        <a href="../docs">Docs</a
        >${pages.map((each) => html`<a href="${each.name}" ${each.name === name ? html` aria-current="page"` : ''}>${each.title}</a>`)}
      </nav>
      <article>
        <h1>${title}</h1>
        <p class="soft"><a href="${name}.md">This page as Markdown</a></p>
        ${sections.length < sectionsMin ? '' : contents} ${content}
      </article>
    </div>`,
  });
}

/** Returns the list of all pages, as served at `/docs`. */
export function docsIndexHtml(pages: readonly RenderedPage[]): string {
  return page({
    title: 'Docs · Tollgate',
    description: 'How to call this gateway, what a call costs, and what every error means.',
    root: './',
    content: html`<h1>Docs</h1>
      <p class="soft">
        For programs: <a href="llms.txt">llms.txt</a> lists these pages, <a href="llms-full.txt">llms-full.txt</a> contains them all, and
        <a href="openapi.json">openapi.json</a> is the API, <a href="console/openapi.json">console/openapi.json</a> that of the console.
        Every page is also Markdown: add <code>.md</code> to its address.
      </p>
      ${pages.map(
        ({ name, title, description, rendered }) =>
          html`<h2><a href="docs/${name}">${title}</a></h2>
            <p>${description}</p>
            ${name === 'clients' ? guides(rendered().sections) : ''}`,
      )}`,
  });
}

/** The guides for single clients, which readers look for by name. */
function guides(sections: Rendered['sections']): Html {
  return html`<ul class="guides">
    ${sections.map(({ anchor, title }) => html`<li><a href="docs/clients#${anchor}">${title}</a></li>`)}
  </ul>`;
}

/** Returns the page for an unknown address. */
export function noDocHtml(name: string, root: string): string {
  return page({
    title: 'No such page · Tollgate',
    description: 'The docs have no page with this name.',
    root,
    content: html`<h1>No such page</h1>
      <p>The docs have no page <code>${name}</code>. <a href="${root}docs">All pages of the docs</a></p>`,
  });
}
