// Lists the statements that a piece of work sends to a database: on MySQL each is a round trip.
import { trace } from '@opentelemetry/api';
import { recordTraces } from './traces.js';

/** Lists statements. There can be one per test file. */
export interface StatementList {
  /** Runs the work and returns its statements in order, for example `INSERT hold`. */
  of(work: () => Promise<unknown>): Promise<string[]>;
  /** Runs the work and returns the texts of its statements in order. */
  texts(work: () => Promise<unknown>): Promise<string[]>;
  stop(): Promise<void>;
}

const table = /\b(?:FROM|INTO|UPDATE) (\w+)/;

/** Starts to trace this process. */
export function listStatements(): StatementList {
  const traces = recordTraces();
  const texts = async (work: () => Promise<unknown>): Promise<string[]> => {
    traces.reset();
    await trace.getTracer('test').startActiveSpan('work', async (span) => {
      await work();
      span.end();
    });
    return traces
      .spans()
      .map(({ attributes }) => String(attributes['db.query.text'] ?? ''))
      .filter((text) => text !== '');
  };
  return {
    of: async (work) => (await texts(work)).map((text) => [text.split(' ', 1)[0], table.exec(text)?.[1]].join(' ').trim()),
    texts,
    stop: () => traces.stop(),
  };
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
