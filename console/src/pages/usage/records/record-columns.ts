// The columns of usage records, and which of them the user has chosen; the choice is kept in the browser.
import { createStore } from '../../../format/store.js';
import type { RecordSort } from '../view.js';

/** Every column, in order. */
export const recordColumns = [
  'time',
  'outcome',
  'model',
  'key',
  'project',
  'input',
  'cached',
  'output',
  'reasoning',
  'cost',
  'firstToken',
  'duration',
  'requestId',
] as const;
export type RecordColumn = (typeof recordColumns)[number];

/** The heading of a row, which cannot be hidden. */
export const fixedColumn: RecordColumn = 'time';

/** The columns by which the API can order records. */
export const columnSorts: Readonly<Partial<Record<RecordColumn, RecordSort>>> = {
  input: 'input',
  output: 'output',
  cost: 'charge',
  firstToken: 'first_output',
  duration: 'duration',
};

const startColumns: readonly RecordColumn[] = ['time', 'outcome', 'model', 'key', 'input', 'output', 'cost', 'firstToken', 'duration'];
const place = 'tollgate.columns.records';
const chosen = createStore(read());

function read(): readonly RecordColumn[] {
  try {
    const stored = localStorage.getItem(place)?.split(',');
    return stored === undefined ? startColumns : recordColumns.filter((column) => column === fixedColumn || stored.includes(column));
  } catch {
    return startColumns;
  }
}

/** Chooses the columns to show; by default the initial ones. */
export function chooseColumns(columns: readonly RecordColumn[] = startColumns): void {
  const next = recordColumns.filter((column) => columns.includes(column));
  try {
    localStorage.setItem(place, next.join(','));
  } catch {
    // They are kept until the page is left.
  }
  chosen.set(next);
}

/** Returns the chosen columns. */
export const useColumns = (): readonly RecordColumn[] => chosen.use();
