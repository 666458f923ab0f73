// The rows of usage records; each leads to its details.
import { Copy, Radio } from 'lucide-react';
import { Link } from 'wouter';
import type { UsageRecord } from '../../api/usage.js';
import { durationText, useNumber } from '../../format/number.js';
import { commonText } from '../../i18n/common.js';
import { usageText } from '../../i18n/usage.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { IconButton } from '../../ui/button.js';
import { copyText } from '../../ui/copy.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toast.js';
import { Usd, When } from '../../ui/values.js';
import { EndingBadge } from './ending.js';
import { useKeyNames, useView } from './use-view.js';
import { writeView } from './view.js';

/** What the history remembers of an address that was opened from the list. */
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
  const soft = (text: string) => <span className="block text-soft">{text}</span>;
  return (
    <DataTable
      caption={t.records}
      rows={rows}
      rowKey={({ request_id }) => request_id}
      columns={[
        {
          name: t.whenAndId,
          cell: ({ request_id, started_at }) => (
            <span className="flex items-start justify-between gap-1">
              <Link to={account.path(`/usage/records/${request_id}${writeView(view)}`)} state={fromList} className="group min-w-0">
                <span className="link">
                  <When at={started_at} style="second" />
                </span>
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
            <span className="wrap-anywhere">
              {nameOf(key_id)}
              {soft(model)}
            </span>
          ),
        },
        { name: t.input, numeric: true, cell: ({ tokens }) => count(tokens.input) },
        { name: t.cached, numeric: true, cell: ({ tokens }) => count(tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h) },
        {
          name: t.output,
          numeric: true,
          cell: ({ tokens }) => (
            <span className="inline-block">
              {count(tokens.output)}
              {tokens.reasoning > 0 && soft(t.ofWhichReasoning({ count: count(tokens.reasoning) }))}
            </span>
          ),
        },
        {
          name: t.cost,
          numeric: true,
          cell: ({ charge_usd, settlement }) => (
            <span className="inline-block">
              <Usd value={charge_usd} />
              {settlement === null && charge_usd !== '0' && soft(t.notSettled)}
            </span>
          ),
        },
        {
          name: t.durations,
          numeric: true,
          cell: ({ first_output_ms, duration_ms, stream }) => (
            <span className="inline-block">
              {first_output_ms === null ? t.noOutput : durationText(first_output_ms)}
              <span className="block text-soft">
                {durationText(duration_ms)} · {stream ? t.streamed : t.whole}
                {stream && <Radio size={12} aria-hidden className="ml-1 inline" />}
              </span>
            </span>
          ),
        },
        { name: t.ending, cell: ({ ending }) => <EndingBadge ending={ending} /> },
      ]}
    />
  );
}

/** Ids of about one time differ at their end. */
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
