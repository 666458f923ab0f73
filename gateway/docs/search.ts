// Full-text search in the docs.
import { setImmediate } from 'node:timers/promises';
import type { TextIndex } from '#kit/db/sqlite/text-index.js';
import type { DocPage } from './doc-page.js';
import type { Rendered } from './markdown.js';

/** A section that was found. */
export interface Found {
  /** The page's name, with the anchor of the section. */
  readonly address: string;
  readonly page: string;
  /** Empty for the beginning of the page. */
  readonly section: string;
  /** Parts of the text; those at odd positions match the query. */
  readonly excerpt: readonly string[];
}

type SearchedPage = DocPage & { readonly title: string; rendered(): Rendered };

/** Searches pages. */
export interface Search<P extends SearchedPage> {
  /** Returns the best matches among pages for which `mayRead` is true. */
  find(query: string, mayRead: (page: P) => boolean): Promise<Found[]>;
}

interface Section<P extends SearchedPage> {
  readonly page: P;
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
}

const foundMax = 12;
const queryCharsMax = 100;

/** Returns a search in these pages, which are indexed when it is first used. */
export function createSearch<P extends SearchedPage>(pages: readonly P[]): Search<P> {
  let indexed: Promise<{ index: TextIndex; sections: Section<P>[] }> | undefined;
  return {
    async find(query, mayRead) {
      const { index, sections } = await (indexed ??= indexOf(pages));
      const matches = index.find(query.slice(0, queryCharsMax), foundMax, (position) => mayRead(sections[position]!.page));
      return matches.map(({ position, excerpt }) => {
        const { page, anchor, title } = sections[position]!;
        return { address: `${page.name}${anchor === '' ? '' : `#${anchor}`}`, page: page.title, section: title, excerpt };
      });
    },
  };
}

async function indexOf<P extends SearchedPage>(pages: readonly P[]): Promise<{ index: TextIndex; sections: Section<P>[] }> {
  // Loaded with the first search, because gateways need it for nothing else.
  const { createTextIndex } = await import('#kit/db/sqlite/text-index.js');
  const index = createTextIndex();
  const sections: Section<P>[] = [];
  for (const page of pages) {
    for (const section of sectionsOf(page)) {
      sections.push(section);
      index.add({ title: page.title, heading: section.title, body: section.text });
    }
    // Indexing a page takes some milliseconds; calls in flight continue in between.
    await setImmediate();
  }
  return { index, sections };
}

function sectionsOf<P extends SearchedPage>(page: P): Section<P>[] {
  const markup = page.rendered().content.text;
  // The samples of client pages and of errors are much the same on all of them.
  const [beginning = '', ...rest] = (page.isListed ? markup : markup.replace(/<pre>[^]*?<\/pre>/g, '')).split(/(?=<h[23] id=")/);
  const sections = rest.map((part) => {
    const [heading, anchor = '', title = ''] = /^<h\d id="([^"]+)">([^]*?)<\/h\d>/.exec(part) ?? [''];
    return { page, anchor, title: plainText(title).replace(/#$/, '').trim(), text: plainText(part.slice(heading.length)) };
  });
  return [
    { page, anchor: '', title: '', text: page.isListed ? `${page.description} ${plainText(beginning)}` : plainText(beginning) },
    ...sections.filter(({ text }) => page.isListed || text !== ''),
  ];
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function plainText(markup: string): string {
  return (
    markup
      // Words and punctuation around these have no space between them.
      .replace(/<\/?(wbr|code|a|strong|em)\b[^>]*>/g, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name]!)
      .replace(/\s+/g, ' ')
      .trim()
  );
}
