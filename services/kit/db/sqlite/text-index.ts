// A full-text index in memory, by SQLite's FTS5 (https://www.sqlite.org/fts5.html).
import Database from 'better-sqlite3';

/** A text to index. */
interface IndexedText {
  /** Matches in its title and its heading count more than those in its body. */
  readonly title: string;
  readonly heading: string;
  readonly body: string;
}

/** A text that matches a query. */
interface TextMatch {
  /** The position of the text in the order in which texts were added. */
  readonly position: number;
  /** Parts of the body; those at odd positions match the query. */
  readonly excerpt: readonly string[];
}

/** An index of texts. */
export interface TextIndex {
  add(text: IndexedText): void;
  /** Returns all matches, best first: texts with every word of the query, or, if there are none, with any. The last word may be incomplete. */
  find(query: string): TextMatch[];
}

const excerptWords = 24;
const mark = '\u0001';

/** Creates an empty index. */
export function createTextIndex(): TextIndex {
  const database = new Database(':memory:');
  database.exec(`CREATE VIRTUAL TABLE texts USING fts5 (title, heading, body, tokenize = 'porter unicode61')`);
  const insert = database.prepare('INSERT INTO texts (title, heading, body) VALUES (?, ?, ?)');
  const select = database.prepare<[string], { position: number; excerpt: string }>(
    `SELECT rowid - 1 AS position, snippet(texts, 2, '${mark}', '${mark}', '…', ${excerptWords}) AS excerpt
     FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 8, 6, 1)`,
  );
  const matches = (expression: string): TextMatch[] =>
    select.all(expression).map(({ position, excerpt }) => ({ position, excerpt: excerpt.split(mark) }));
  return {
    add: ({ title, heading, body }) => void insert.run(title, heading, body.replaceAll(mark, '')),
    find(query) {
      const words = query.match(/[\p{L}\p{N}]+/gu) ?? [];
      if (words.length === 0) return [];
      // FTS5 does not read a quoted word as an operator.
      const terms = words.map((word, at) => `"${word}"${at === words.length - 1 ? '*' : ''}`);
      const all = matches(terms.join(' '));
      return all.length > 0 ? all : matches(terms.join(' OR '));
    },
  };
}
