// llms.txt, through which language models find the docs as Markdown, and llms-full.txt with all of them. Pure.
import type { RenderedPage } from './html-pages.js';
import { withServedLinks } from './markdown.js';

const summary = `# Tollgate

> A metered gateway to text-generation models. Any client of the chat-completions, responses or messages format works with any model;
> every call is charged to a prepaid balance in USD, exactly.
`;

/** Returns the list of all pages; its addresses are relative, so that it works below any path. */
export function llmsTxt(pages: readonly RenderedPage[]): string {
  const links = pages
    .filter(({ isListed }) => isListed)
    .map(({ name, title, description }) => `- [${title}](docs/${name}.md): ${description}`);
  return `${summary}\n## Docs\n\n${links.join('\n')}\n\n## Optional\n\n- [All of these pages in one file](llms-full.txt)\n- [OpenAPI document](openapi.json): the API for programs.\n- [OpenAPI document of the console](console/openapi.json): the API that its pages call.\n- [Catalog](v1/catalog): every model with its limits and prices, as JSON.\n`;
}

/** Returns all pages, one after another. Their links are relative to the root, like those of the list. */
export function llmsFullTxt(pages: readonly RenderedPage[]): string {
  const names = new Set(pages.map(({ name }) => name));
  const texts = pages.map(({ name, markdown }) => `<!-- docs/${name}.md -->\n\n${withServedLinks(markdown(), names, name, true).trim()}\n`);
  return [summary, ...texts].join('\n');
}
