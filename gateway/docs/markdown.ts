// Our Markdown as HTML: headings with anchors, tables that can be read on a phone, links that stay within the site. Pure.
import { Marked, type Tokens } from 'marked';
import { escapeText, Html } from '../pages/html.js';

/** A heading of the second level, as a table of contents shows it. */
interface Section {
  readonly anchor: string;
  readonly title: string;
}

/** A parsed Markdown text. */
export interface Rendered {
  /** The first heading of the first level, as plain text. */
  readonly title: string;
  /** Everything but the title. */
  readonly content: Html;
  readonly sections: readonly Section[];
}

// Addresses outside of /docs that the pages may link to. Anything else that a text links to exists in the source only, and is shown without a link.
const siteAddresses: ReadonlySet<string> = new Set(['/models', '/openapi.json', '/console/openapi.json', '/llms.txt', '/llms-full.txt']);

/**
 * Renders a text. HTML markup in it, and links that are not http, are shown as text and never interpreted.
 * @param pages the names of all pages; a link to `name.md` leads to the page of that name.
 * @param from the name of this page.
 */
export function renderMarkdown(text: string, pages: ReadonlySet<string>, from = ''): Rendered {
  const anchors = new Map<string, number>();
  const sections: Section[] = [];
  let title = '';

  const marked = new Marked({ gfm: true, async: false });
  marked.use({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading): string {
        const name = plainText(this.parser.parseInline(tokens, this.parser.textRenderer));
        if (depth === 1 && title === '') {
          title = name;
          return '';
        }
        const anchor = anchorOf(name, anchors);
        if (depth === 2) sections.push({ anchor, title: name });
        return `<h${depth} id="${escapeText(anchor)}">${this.parser.parseInline(tokens)} <a class="anchor" href="#${escapeText(anchor)}" aria-label="Link to this section">#</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const content = this.parser.parseInline(tokens);
        const address = addressOf(href, pages, from);
        return address === undefined ? content : `<a href="${escapeText(address)}">${content}</a>`;
      },
      // The content security policy of the pages allows no images.
      image: ({ text: description }: Tokens.Image): string => escapeText(description),
      html: ({ text: markup }: Tokens.HTML | Tokens.Tag): string => escapeText(markup),
      codespan: ({ text: code }: Tokens.Codespan): string => `<code>${breakable(escapeText(code))}</code>`,
      code: ({ text: code }: Tokens.Code): string => `<div class="code"><pre><code>${escapeText(code)}\n</code></pre></div>\n`,
      table({ header, rows }: Tokens.Table): string {
        const labels = header.map(({ tokens }) => plainText(this.parser.parseInline(tokens, this.parser.textRenderer)));
        // A header cell without a name would be announced as a header of its column.
        const head = header
          .map(({ tokens }, index) => (labels[index] === '' ? '<td></td>' : `<th scope="col">${this.parser.parseInline(tokens)}</th>`))
          .join('');
        const body = rows.map((row) => {
          const cells = row.map(
            ({ tokens }, index) =>
              `<td${index > 0 && labels[index] ? ` data-label="${escapeText(labels[index])}"` : ''}>${this.parser.parseInline(tokens)}</td>`,
          );
          return `<tr>${cells.join('')}</tr>\n`;
        });
        return `<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body.join('')}</tbody>\n</table>\n`;
      },
    },
  });
  const content = new Html(marked.parse(text, { async: false }));
  return { title, content, sections };
}

/** A setting or a code whose name is at least this long takes the room of the other columns. */
const longName = /^([A-Z][A-Z\d_]{39,}|[a-z][a-z_]{17,})$/;

/** Allows line breaks after the dots of a path such as `messages[].content[].text`, and in long names: a table would become too wide. */
function breakable(code: string): string {
  if (longName.test(code)) return code.replaceAll('_', '_<wbr>');
  return /^[\w[\].]+$/.test(code) ? code.replace(/\.(?=[A-Za-z_])/g, '.<wbr>') : code;
}

/** Returns the target of a link of the page `from`, as the browser sees it there, or undefined if the site has no such page. */
export function addressOf(href: string, pages: ReadonlySet<string>, from = ''): string | undefined {
  if (/^https?:\/\//.test(href) || href.startsWith('#')) return href;
  const up = '../'.repeat(from.split('/').length - 1);
  const { pathname, hash, host } = new URL(href, `http://docs/docs/${from}`);
  if (host !== 'docs') return undefined;
  if (siteAddresses.has(pathname)) return `${up}..${pathname}`;
  const [, path] = /^\/docs\/(.+)\.md$/.exec(pathname) ?? [];
  const name = path?.replace(/README$/, 'index');
  // Every reason has a page of its own.
  const reason = name === 'errors' ? `errors/${hash.slice(1)}` : undefined;
  if (reason !== undefined && pages.has(reason)) return up + reason;
  return name !== undefined && pages.has(name) ? up + name + hash : undefined;
}

// A code block, a code span, or a link. The brackets of links in code are part of the code.
const codeOrLink = /(```[\s\S]*?```|`[^`\n]*`)|\[((?:`[^`\n]*`|[^\]`])*)\]\(([^)\s]+)\)/g;

/**
 * Returns a text for programs: its links lead to the Markdown of pages, and those to files that exist in the source only become plain text.
 * @param isAtRoot whether the text is served at the root of the site instead of below /docs.
 */
export function withServedLinks(text: string, pages: ReadonlySet<string>, from: string, isAtRoot = false): string {
  return text.replace(codeOrLink, (whole: string, code: string | undefined, label: string, href: string) => {
    if (code !== undefined || /^https?:\/\//.test(href)) return whole;
    if (addressOf(href, pages, from) === undefined) return label;
    const served = href.replace(/\bREADME\.md/, 'index.md');
    if (!isAtRoot) return `[${label}](${served})`;
    const { pathname, hash } = new URL(served, `http://docs/docs/${from}.md`);
    return `[${label}](${pathname.slice(1)}${hash})`;
  });
}

/** Returns the anchor of a heading, derived as code hosts derive it, so that the same link works in both places. */
function anchorOf(name: string, used: Map<string, number>): string {
  const anchor = name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
  const times = used.get(anchor) ?? 0;
  used.set(anchor, times + 1);
  return times === 0 ? anchor : `${anchor}-${times}`;
}

const entities: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

/** Undoes the escaping that the renderer also applies to plain text. */
function plainText(escaped: string): string {
  return escaped.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity]!);
}
