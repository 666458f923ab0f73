// The statements that a piece of work sends to a database: on MySQL each is a round trip, and on SQLite each should read only what it needs.
import { trace } from '@opentelemetry/api';
import type { Database } from '../db/open.js';
import type { PlainTransaction } from '../db/plain/plain-transaction.js';
import { recordTraces } from './traces.js';

/** Lists statements. There can be one per test file. */
export interface StatementList {
  /** Runs the work and returns its statements in order, for example `INSERT hold`. */
  of(work: () => Promise<unknown>): Promise<string[]>;
  stop(): Promise<void>;
}

const table = /\b(?:FROM|INTO|UPDATE) (\w+)/;

/** Starts to trace this process. */
export function listStatements(): StatementList {
  const traces = recordTraces();
  return {
    async of(work) {
      traces.reset();
      await trace.getTracer('test').startActiveSpan('work', async (span) => {
        await work();
        span.end();
      });
      return traces
        .spans()
        .map(({ attributes }) => String(attributes['db.query.text'] ?? ''))
        .filter((text) => text !== '')
        .map((text) => [text.split(' ', 1)[0], table.exec(text)?.[1]].join(' ').trim());
    },
    stop: () => traces.stop(),
  };
}

/** Returns a database that notes the texts of the statements that read through it. Traces cut long ones off. */
export function notingTexts(db: Database): { readonly db: Database; readonly texts: readonly string[] } {
  const texts: string[] = [];
  db.knex.on('query', ({ sql }: { sql: string }) => texts.push(sql));
  const noting = <Q extends Pick<PlainTransaction, 'query'>>(from: Q): Q['query'] => {
    return (text, values) => {
      texts.push(text);
      return from.query(text, values);
    };
  };
  const notingTransaction: Database['plainTransaction'] = (work, options) =>
    db.plainTransaction((tx) => work(Object.assign(Object.create(tx) as PlainTransaction, { query: noting(tx) })), options);
  return { texts, db: { ...db, query: noting(db), plainTransaction: notingTransaction } };
}

/** Returns the steps of SQLite's plans for these statements, each once. They depend on neither the values nor the rows. */
export async function plansOf(db: Pick<Database, 'query'>, texts: readonly string[]): Promise<Set<string>> {
  const steps = new Set<string>();
  for (const text of new Set(texts)) {
    const rows = await db.query(
      `EXPLAIN QUERY PLAN ${text}`,
      Array.from(text.matchAll(/\?/g), () => 0),
    );
    for (const row of rows) steps.add(String(row['detail']));
  }
  return steps;
}

/** Returns the columns that a statement compares with several lower or several upper bounds at once: SQLite would read an index from the first of them. */
export function doublyBound(text: string): string[] {
  const found: string[] = [];
  // Alternatives are no bounds of an index.
  const outer = text.replaceAll(/\([^()]* or [^()]*\)/gi, '');
  for (const select of outer.split(/\bselect\b/i)) {
    for (const bound of [/`?(\w+)`? >=? \?/g, /`?(\w+)`? <=? \?/g]) {
      const columns = [...select.matchAll(bound)].map(([, column]) => column!);
      found.push(...columns.filter((column, index) => columns.indexOf(column) !== index));
    }
  }
  return found;
}
