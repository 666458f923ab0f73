// Queries that an idle process repeats. A SQLite file belongs to one process and has one connection, so while nothing takes that connection to
// write, a query returns what it returned before, and is not run again.
import type { Bindings, Row } from './plain-transaction.js';

interface Answer {
  readonly bindings: Bindings;
  /** The number of uses of the connection before the query. */
  readonly uses: number;
  readonly rows: Promise<Row[]>;
}

/** Runs SELECTs, each only when its result may differ from the last one. */
export class PolledQueries {
  /** By text. The code has a fixed number of texts. */
  private readonly answers = new Map<string, Answer>();
  private uses = 0;

  constructor(private readonly run: (sql: string, bindings: Bindings) => Promise<Row[]>) {}

  /** Call this when the connection is requested for anything that may write. What is requested later runs later. */
  noteUse(): void {
    this.uses += 1;
  }

  query(sql: string, bindings: Bindings): Promise<Row[]> {
    const { uses } = this;
    const known = this.answers.get(sql);
    if (known !== undefined && known.uses === uses && isSame(known.bindings, bindings)) return known.rows;
    const rows = this.run(sql, bindings);
    this.answers.set(sql, { bindings, uses, rows });
    rows.catch(() => this.answers.delete(sql));
    return rows;
  }
}

function isSame(one: Bindings, other: Bindings): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}
