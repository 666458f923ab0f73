// The rows of usage records, which link to their details.
import { Link } from 'wouter';
import type { UsageRecord } from '../../../api/usage.js';
import { durationText } from '../../../format/duration.js';
import { useNumber } from '../../../format/number.js';
import { useTime } from '../../../format/time.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { ShortId } from '../../../ui/short-id.js';
import { type Column, DataTable } from '../../../ui/table.js';
import { Usd } from '../../../ui/values.js';
import { useProjectName } from '../../projects/queries.js';
import { OutcomeDot } from '../outcome.js';
import { columnSorts, type RecordColumn, useColumns } from './record-columns.js';
import { useKeyNames } from '../../keys/key-names.js';
import { useView } from '../use-view.js';
import { writeView } from '../view.js';

/** The history state of a record that was opened from the list. */
export interface FromList {
  readonly fromList: true;
}

const fromList: FromList = { fromList: true };

export function RecordTable({ rows }: { rows: readonly UsageRecord[] }) {
  const t = useText(usageText);
  const account = useAccount();
  const count = useNumber();
  const { nameOf } = useKeyNames();
  const projectName = useProjectName();
  const [view, change] = useView();
  const shown = useColumns();
  const time = useTime();
  const columns: Readonly<Record<RecordColumn, Omit<Column<UsageRecord>, 'name' | 'sort'>>> = {
    time: {
      className: 'line-1',
      cell: ({ request_id, started_at }) => (
        <Link to={account.path(`/usage/records/${request_id}${writeView(view)}`)} state={fromList} className="link">
          <time dateTime={started_at} title={`${time.full(started_at)}\n${request_id}`}>
            {time.lineToSecond(started_at)}
          </time>
        </Link>
      ),
    },
    outcome: { className: 'line-1 cut share', cell: ({ outcome }) => <OutcomeDot outcome={outcome} brief /> },
    model: { className: 'line-2 cut share wide', cell: ({ model }) => <span title={model}>{model}</span> },
    key: { className: 'line-2 cut share', cell: ({ key_id }) => <span title={nameOf(key_id)}>{nameOf(key_id)}</span> },
    project: { className: 'cut share', cell: ({ project_id }) => <span title={projectName(project_id)}>{projectName(project_id)}</span> },
    input: { numeric: true, cell: ({ tokens }) => <span title={cachedTitle(tokens)}>{count(tokens.input + cachedOf(tokens))}</span> },
    cached: { numeric: true, cell: ({ tokens }) => count(cachedOf(tokens)) },
    output: { numeric: true, cell: ({ tokens }) => count(tokens.output) },
    reasoning: { numeric: true, cell: ({ tokens }) => count(tokens.reasoning) },
    cost: {
      className: 'line-1',
      usd: ({ charge_usd }) => charge_usd,
      rounded: true,
      cell: ({ charge_usd, settlement }, digits) => (
        <>
          <Usd value={charge_usd} digits={digits} />
          {settlement === null && charge_usd !== '0' && (
            <span className="text-soft" title={t.notSettled}>
              *<span className="sr-only"> {t.notSettled}</span>
            </span>
          )}
        </>
      ),
    },
    firstToken: {
      numeric: true,
      cell: ({ first_output_ms }) => (first_output_ms === null ? <span title={t.noOutput}>–</span> : durationText(first_output_ms)),
    },
    duration: { numeric: true, cell: ({ duration_ms }) => durationText(duration_ms) },
    requestId: {
      cell: ({ request_id }) => <ShortId id={request_id} />,
    },
  };
  function cachedTitle(tokens: UsageRecord['tokens']): string | undefined {
    const cached = cachedOf(tokens);
    return cached > 0 ? t.cachedMore({ count: count(cached) }) : undefined;
  }
  return (
    <DataTable
      caption={t.records}
      room="most"
      dense
      className="two-lines"
      rows={rows}
      rowKey={({ request_id }) => request_id}
      columns={shown.map((column) => {
        const sort = columnSorts[column];
        const isActive = sort !== undefined && view.sort === sort;
        return {
          name: t[`column_${column}`],
          ...columns[column],
          ...(sort === undefined ? {} : { sort: { isActive, onSort: () => change({ sort: isActive ? undefined : sort }) } }),
        };
      })}
    />
  );
}

/** Returns the tokens that were read from the vendor's cache or written to it. */
function cachedOf(tokens: UsageRecord['tokens']): number {
  return tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h;
}
