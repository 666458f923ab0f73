// Lists the statements that a piece of work sends to a database: on MySQL each is a round trip.
import { trace } from '@opentelemetry/api';
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
