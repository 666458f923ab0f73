// Writes results: aligned tables and "label  value" lines by default, one JSON object per line with --json.
import { formatUsd } from '#rules/money/money.js';

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** An object in the stable shape that scripts read: snake_case names. */
export type JsonObject = { readonly [name: string]: Json };

/** One column of a table, or one labelled line of a single object. */
export interface Column<T> {
  readonly title: string;
  readonly text: (item: T) => string;
  readonly align?: 'right';
}

/** The output format of a type. */
export interface View<T> {
  readonly json: (item: T) => JsonObject;
  /** The columns in lists. */
  readonly columns: readonly Column<T>[];
  /** The lines when it is shown alone; absent: the columns. */
  readonly details?: readonly Column<T>[];
}

/** Returns a number with its noun: "1 entry", "2 entries". */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${BigInt(count) === 1n ? one : many}`;
}

/** Where output is written. */
export interface Sink {
  stdout(text: string): void;
  stderr(text: string): void;
}

/** The output of one command. */
export class Output {
  constructor(
    private readonly sink: Sink,
    readonly json: boolean,
  ) {}

  /** Writes one object. `extra` is added only to the JSON object; notes contain the same for readers. */
  show<T>(view: View<T>, item: T, extra: JsonObject = {}): void {
    if (this.json) return this.line({ ...view.json(item), ...extra });
    const rows = (view.details ?? view.columns).map((column) => [column.title, column.text(item)]).filter((row) => row[1] !== '');
    this.sink.stdout(alignRows(rows, []));
  }

  /** Writes a whole list. */
  list<T>(view: View<T>, items: readonly T[]): void {
    const table = this.table(view);
    table.add(items);
    table.end();
  }

  /** Writes a list page by page. */
  table<T>(view: View<T>): { add(items: readonly T[]): void; end(): void } {
    let widths = view.columns.map((column) => column.title.length);
    let isEmpty = true;
    return {
      add: (items) => {
        if (this.json) return items.forEach((item) => this.line(view.json(item)));
        if (items.length === 0) return;
        const rows = items.map((item) => view.columns.map((column) => column.text(item)));
        if (isEmpty) rows.unshift(view.columns.map((column) => column.title));
        isEmpty = false;
        widths = widest(rows, widths);
        this.sink.stdout(
          alignRows(
            rows,
            view.columns.map((column) => column.align === 'right'),
            widths,
          ),
        );
      },
      end: () => {
        if (!this.json && isEmpty) this.sink.stdout('none\n');
      },
    };
  }

  /** Writes a sentence after the result; omitted with --json. */
  note(text: string): void {
    if (!this.json) this.sink.stdout(`${text}\n`);
  }

  /** Writes a sentence to standard error, so that it is not part of the result. */
  aside(text: string): void {
    this.sink.stderr(`${text}\n`);
  }

  private line(object: JsonObject): void {
    this.sink.stdout(`${JSON.stringify(object)}\n`);
  }
}

/** Returns the rows as lines with two spaces between the columns; `right` marks columns that are right-aligned. */
function alignRows(cells: readonly (readonly string[])[], right: readonly boolean[], least: readonly number[] = []): string {
  // Some texts come from callers and vendors, such as the model of a refused call. They must not add lines, or control the operator's terminal.
  const rows = cells.map((row) => row.map((text) => text.replaceAll(/\p{Cc}/gu, ' ')));
  const widths = widest(rows, least);
  return rows
    .map(
      (row) =>
        `${row
          .map((text, index) => (right[index] === true ? text.padStart(widths[index]!) : text.padEnd(widths[index]!)))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function widest(rows: readonly (readonly string[])[], least: readonly number[]): number[] {
  const widths = [...least];
  for (const row of rows) row.forEach((text, index) => (widths[index] = Math.max(widths[index] ?? 0, text.length)));
  return widths;
}

/** Formats an amount as "$1.5", for tables. */
export function usd(nanoUsd: bigint): string {
  return nanoUsd < 0n ? `-$${formatUsd(-nanoUsd)}` : `$${formatUsd(nanoUsd)}`;
}

/** Returns both JSON forms of an amount: `<name>_usd`, a decimal string, and `<name>_nano_usd`, an integer as a string. */
export function usdJson(name: string, nanoUsd: bigint | undefined, unit = ''): JsonObject {
  return {
    [`${name}_usd${unit}`]: nanoUsd === undefined ? null : formatUsd(nanoUsd),
    [`${name}_nano_usd${unit}`]: nanoUsd === undefined ? null : nanoUsd.toString(),
  };
}

/** Formats a time as "2027-01-31 12:00:00Z", for tables; empty when absent. */
export function instant(ms: bigint | undefined): string {
  return ms === undefined || ms === 0n ? '' : `${new Date(Number(ms)).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** Formats a time as ISO 8601 in UTC, for JSON; null when absent. */
export function instantJson(ms: bigint | undefined): string | null {
  return ms === undefined || ms === 0n ? null : new Date(Number(ms)).toISOString();
}
