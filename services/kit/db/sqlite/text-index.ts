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
  /**
   * Returns the best `limit` matches whose position is accepted, best first: texts with every word of the query, or, if there are none, with any. The last
   * word may be incomplete. Only the first eight different words of a query count.
   */
  find(query: string, limit: number, accepts: (position: number) => boolean): TextMatch[];
}

const excerptWords = 24;
const mark = '\u0001';

/** Limits the work of a search, which grows with each word, because a search keeps the process from serving calls. */
const wordsMax = 8;

/** Creates an empty index. */
export function createTextIndex(): TextIndex {
  const database = new Database(':memory:');
  // Without an index of their own, short prefixes would be collected from the thousands of words that begin with them.
  database.exec(`CREATE VIRTUAL TABLE texts USING fts5 (title, heading, body, tokenize = 'porter unicode61', prefix = '1 2')`);
  const insert = database.prepare('INSERT INTO texts (title, heading, body) VALUES (?, ?, ?)');
  const rank = database.prepare<[string], number>('SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 8, 6, 1)').pluck();
  // An excerpt takes longer to find than a rank, so only the texts that are returned get one.
  const excerptOf = database
    .prepare<[string, number], string>(
      `SELECT snippet(texts, 2, '${mark}', '${mark}', '…', ${excerptWords}) FROM texts WHERE texts MATCH ? AND rowid = ?`,
    )
    .pluck();
  return {
    add: ({ title, heading, body }) => void insert.run(title, heading, body.replaceAll(mark, '')),
    find(query, limit, accepts) {
      const terms = termsOf(query);
      if (terms.length === 0) return [];
      for (const expression of [terms.join(' '), terms.join(' OR ')]) {
        const ranked = rank.all(expression);
        if (ranked.length === 0) continue;
        const wanted = ranked.filter((rowid) => accepts(rowid - 1)).slice(0, limit);
        return wanted.map((rowid) => ({ position: rowid - 1, excerpt: excerptOf.get(expression, rowid)!.split(mark) }));
      }
      return [];
    },
  };
}

/** Returns the different words of a query as FTS5 terms. FTS5 would look up a repeated term once for each repetition. */
export function termsOf(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const last = words.at(-1);
  // FTS5 does not read a quoted word as an operator.
  return [...new Set(words)].slice(0, wordsMax).map((word) => `"${word}"${word === last ? '*' : ''}`);
}
