// A table that becomes one card per row on narrow screens.
import { ArrowDown } from 'lucide-react';
import type { ReactNode } from 'react';
import { digitsOf, fewDigitsOf } from '../format/money.js';
import { classNames } from './class-names.js';
import { Usd } from './values.js';

/** A column; the first one is the row's heading. */
export interface Column<Row> {
  readonly name: string;
  /** What a cell shows; `digits` are the decimals of the column's amounts. By default the amount. */
  readonly cell?: (row: Row, digits: number) => ReactNode;
  /** The amount of a row; all amounts of a column have the same number of decimals. */
  readonly usd?: (row: Row) => string | null;
  /** The amounts are compared rather than added up, so that they may be rounded to the digits that the smallest needs. */
  readonly rounded?: boolean;
  /** Whether the column has figures, which are right-aligned. */
  readonly numeric?: boolean;
  /** For columns of actions: only screen readers get the name. */
  readonly hideName?: boolean;
  readonly className?: string;
  /** Makes the heading a button that orders the rows by this column. */
  readonly sort?: { readonly isActive: boolean; readonly onSort: () => void };
}

/** Tables with at least this many columns may not fit next to the navigation. */
const manyColumns = 4;

/** The room that a table needs; with less, its rows become cards (styles.css). */
const rooms = { some: '@container/many-columns', much: '@container/more-columns', most: '@container/most-columns' };

interface Props<Row> {
  /** The table's description for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** `much` and `most` are for tables with wide cells, because nothing may be wider than the page. */
  readonly room?: keyof typeof rooms;
  /** One line per row; what is too long is cut. Cells have the whole text as their title. */
  readonly dense?: boolean;
  /** It fits wherever it is, and is never shown as cards. */
  readonly plain?: boolean;
  readonly className?: string;
}

export function DataTable<Row>({ caption, columns, rows, rowKey, room = 'some', dense = false, plain = false, className }: Props<Row>) {
  const digits = columns.map(({ usd, rounded = false }) => (usd === undefined ? 2 : (rounded ? fewDigitsOf : digitsOf)(rows.map(usd))));
  const content = (column: Column<Row>, row: Row, at: number): ReactNode =>
    column.cell === undefined ? <Usd value={column.usd?.(row) ?? null} digits={digits[at]} /> : column.cell(row, digits[at]!);
  // Roles are explicit because rows and cells lose theirs when displayed as blocks.
  const table = (
    <table
      className={classNames(
        'data-table',
        dense && 'dense',
        plain && 'plain',
        className,
        columns.some(({ hideName }) => hideName === true) && 'with-actions',
      )}
      role="table"
    >
      <caption className="sr-only">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th
              key={column.name}
              role="columnheader"
              scope="col"
              aria-sort={column.sort?.isActive === true ? 'descending' : undefined}
              className={column.numeric === true || column.usd !== undefined ? 'num' : undefined}
            >
              {column.sort === undefined ? (
                <span className={column.hideName === true ? 'sr-only' : undefined}>{column.name}</span>
              ) : (
                <button type="button" className="inline-flex items-center gap-0.5 hover:text-text" onClick={column.sort.onSort}>
                  {column.name}
                  <ArrowDown size={13} aria-hidden className={column.sort.isActive ? 'text-accent' : 'opacity-30'} />
                </button>
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={rowKey(row)} role="row">
            {columns.map((column, index) =>
              index === 0 ? (
                <th key={column.name} role="rowheader" scope="row" className={column.className}>
                  {content(column, row, index)}
                </th>
              ) : (
                <td
                  key={column.name}
                  role="cell"
                  data-label={column.hideName === true ? undefined : column.name}
                  className={classNames(
                    (column.numeric === true || column.usd !== undefined) && 'num',
                    column.hideName === true && 'actions',
                    column.className,
                  )}
                >
                  {content(column, row, index)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  if (columns.length < manyColumns || plain) return table;
  // A user may choose more columns than fit.
  return <div className={classNames(rooms[room], dense && 'overflow-x-auto')}>{table}</div>;
}
