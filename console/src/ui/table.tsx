// A table that becomes one card per row on narrow screens.
import type { ReactNode } from 'react';
import { classNames } from './class-names.js';

/** A column; the first one is the row's heading. */
export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  /** Whether the column has figures, which are right-aligned. */
  readonly numeric?: boolean;
  /** For columns of actions: only screen readers get the name. */
  readonly hideName?: boolean;
  readonly className?: string;
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
}

export function DataTable<Row>({ caption, columns, rows, rowKey, room = 'some' }: Props<Row>) {
  // Roles are explicit because rows and cells lose theirs when displayed as blocks.
  const table = (
    <table className={classNames('data-table', columns.some(({ hideName }) => hideName === true) && 'with-actions')} role="table">
      <caption className="sr-only">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.name} role="columnheader" scope="col" className={column.numeric === true ? 'num' : undefined}>
              <span className={column.hideName === true ? 'sr-only' : undefined}>{column.name}</span>
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
                  {column.cell(row)}
                </th>
              ) : (
                <td
                  key={column.name}
                  role="cell"
                  data-label={column.hideName === true ? undefined : column.name}
                  className={classNames(column.numeric === true && 'num', column.className)}
                >
                  {column.cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  return columns.length < manyColumns ? table : <div className={rooms[room]}>{table}</div>;
}
