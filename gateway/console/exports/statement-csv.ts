// A statement as CSV (RFC 4180): the opening balance, every entry with the balance after it, and the closing balance; or its charges by project. Pure.
import { formatUsd } from '#rules/money/money.js';
import type { Entry, Statement } from '#proto/ledger/v1/ledger.js';
import type { GetUsageTotalsResponse_Group } from '#proto/metering/v1/metering.js';
import { csvLine } from '../../pages/csv.js';
import { renderEntry } from '../render/billing.js';
import { instant } from '../render/values.js';

const columns = [
  'created_at',
  'number',
  'kind',
  'effect_usd',
  'balance_usd',
  'request_id',
  'key_id',
  'source',
  'reference',
  'reason',
  'entry_id',
  'corrects_entry_id',
] as const;

type Cells = Partial<Record<(typeof columns)[number], string | number | null>>;

const line = (cells: Cells): string => csvLine(columns.map((column) => cells[column] ?? ''));

/** Returns the header line and the opening balance. */
export function statementCsvStart({ fromMs, openingNanoUsd }: Statement): string {
  return csvLine(columns) + line({ created_at: instant(fromMs), kind: 'opening', balance_usd: formatUsd(openingNanoUsd) });
}

/** Returns the line of an entry. */
export function statementCsvLine(entry: Entry): string {
  const { id, balance_after_usd, ...shown } = renderEntry(entry);
  return line({ ...shown, balance_usd: balance_after_usd, entry_id: id });
}

/** Returns the closing balance; for an open month, the current balance. */
export function statementCsvEnd({ untilMs, isClosed }: Statement, closingNanoUsd: bigint): string {
  return line({ created_at: isClosed ? instant(untilMs) : '', kind: 'closing', balance_usd: formatUsd(closingNanoUsd) });
}

/** Returns what the calls of a month cost by project, as a whole file. Projects of which no name is known have none. */
export function statementProjectsCsv(
  month: string,
  groups: readonly Pick<GetUsageTotalsResponse_Group, 'name' | 'calls' | 'chargeNanoUsd' | 'units'>[],
  names: ReadonlyMap<string, string>,
): string {
  const lines = groups.map(({ name: id, calls, chargeNanoUsd, units }) =>
    csvLine([
      month,
      id,
      names.get(id) ?? '',
      String(calls),
      units.map(({ unit, quantity }) => `${unit}=${quantity}`).join(' '),
      formatUsd(chargeNanoUsd),
    ]),
  );
  return csvLine(['month', 'project_id', 'project', 'calls', 'units', 'charge_usd']) + lines.join('');
}
