// The rows of usage records, which link to their details.
import { Copy } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { UsageRecord } from '../../api/usage.js';
import { durationText, useNumber } from '../../format/number.js';
import { useTime, useZone } from '../../format/time.js';
import { commonText } from '../../i18n/common.js';
import { usageText } from '../../i18n/usage.js';
import { useLanguage, useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { IconButton } from '../../ui/button.js';
import { classNames } from '../../ui/class-names.js';
import { copyText } from '../../ui/copy.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toast.js';
import { Usd } from '../../ui/values.js';
import { OutcomeBadge } from './outcome.js';
import { useKeyNames, useView } from './use-view.js';
import { writeView } from './view.js';

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
  const [view] = useView();
  const time = useTime();
  const short = useShortTime();
  const soft = (text: string) => <span className="block whitespace-normal text-soft">{text}</span>;
  return (
    <DataTable
      caption={t.records}
      room="most"
      rows={rows}
      rowKey={({ request_id }) => request_id}
      columns={[
        {
          name: t.whenAndId,
          cell: ({ request_id, started_at }) => (
            <span className="flex items-start justify-between gap-1 whitespace-nowrap">
              <Link to={account.path(`/usage/records/${request_id}${writeView(view)}`)} state={fromList} className="min-w-0">
                <time dateTime={started_at} title={time.full(started_at)} className="link">
                  {short(started_at)}
                </time>
                <code className="block font-normal text-soft" title={request_id}>
                  {shortId(request_id)}
                </code>
              </Link>
              <CopyId id={request_id} />
            </span>
          ),
        },
        {
          name: t.keyAndModel,
          cell: ({ key_id, model }) => (
            <Lines roomy>
              {nameOf(key_id)}
              {soft(model)}
            </Lines>
          ),
        },
        {
          name: t.input,
          numeric: true,
          cell({ tokens }) {
            const cached = tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h;
            return (
              <Lines>
                {count(tokens.input)}
                {cached > 0 && soft(t.cachedMore({ count: count(cached) }))}
              </Lines>
            );
          },
        },
        {
          name: t.output,
          numeric: true,
          cell: ({ tokens }) => (
            <Lines>
              {count(tokens.output)}
              {tokens.reasoning > 0 && soft(t.ofWhichReasoning({ count: count(tokens.reasoning) }))}
            </Lines>
          ),
        },
        {
          name: t.cost,
          numeric: true,
          cell: ({ charge_usd, settlement }) => (
            <Lines>
              <Usd value={charge_usd} />
              {settlement === null && charge_usd !== '0' && soft(t.notSettled)}
            </Lines>
          ),
        },
        {
          name: t.durations,
          numeric: true,
          cell: ({ first_output_ms, duration_ms }) => (
            <Lines>
              {durationText(duration_ms)}
              {soft(first_output_ms === null ? t.noOutput : t.firstAfter({ time: durationText(first_output_ms) }))}
            </Lines>
          ),
        },
        { name: t.outcome, cell: ({ outcome }) => <OutcomeBadge outcome={outcome} wraps /> },
      ]}
    />
  );
}

/** Several lines in one cell, next to the cell's name on narrow screens. `roomy`: names are not hyphenated to save room. */
function Lines({ roomy = false, children }: { roomy?: boolean; children: ReactNode }) {
  return <span className={classNames('inline-block max-w-full align-top wrap-anywhere', roomy && 'md:min-w-30')}>{children}</span>;
}

/** Returns a function that formats date and time to the second, with the year if it is not the current one. */
function useShortTime(): (instant: string) => string {
  const language = useLanguage();
  const zone = useZone();
  const options = {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    ...(zone === 'utc' ? { timeZone: 'UTC' } : {}),
  } as const;
  const near = new Intl.DateTimeFormat(language, options);
  const far = new Intl.DateTimeFormat(language, { ...options, year: 'numeric' });
  const thisYear = new Date().getFullYear();
  return (instant) => (new Date(instant).getFullYear() === thisYear ? near : far).format(new Date(instant));
}

/** Shortens an id to its beginning and end; ids of about the same time differ at the end. */
const shortId = (id: string): string => `${id.slice(0, 4)}…${id.slice(-8)}`;

function CopyId({ id }: { id: string }) {
  const t = useText(usageText);
  const common = useText(commonText);
  const copy = async (): Promise<void> => toast((await copyText(id)) ? t.idCopied : `${common.somethingFailed}: ${id}`);
  return (
    <IconButton label={t.copyId} onClick={() => void copy()} className="-my-1 shrink-0">
      <Copy size={15} aria-hidden />
    </IconButton>
  );
}
