// The statement of a month: the balance line by line, each charge with its usage record.
import { useQuery } from '@tanstack/react-query';
import { Download, Printer } from 'lucide-react';
import { Link, useParams, useSearchParams } from 'wouter';
import { getStatement, type Line, lineKinds, type Statement, statementCsvUrl } from '../../api/billing.js';
import { getTotals } from '../../api/usage.js';
import { digitsOf, usdText } from '../../format/money.js';
import { useZone } from '../../format/time.js';
import { billingText } from '../../i18n/billing.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { useNumber } from '../../format/number.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Badge } from '../../ui/badge.js';
import { Button, buttonClass } from '../../ui/button.js';
import { Card, PageHeader, Section } from '../../ui/layout.js';
import { Notice } from '../../ui/notice.js';
import { Segmented } from '../../ui/segmented.js';
import { DataTable } from '../../ui/table.js';
import { Usd, When } from '../../ui/values.js';
import { useProjectName } from '../projects/queries.js';
import { billingKey, Effect, KeyLink, Listed, RequestLink, useMonth } from './parts.js';

export default function StatementPage() {
  const t = useText(billingText);
  const common = useText(commonText);
  const account = useAccount();
  const { month = '' } = useParams<{ month: string }>();
  const inWords = useMonth();
  // By its name, because its offset may change within the month.
  const zone = useZone() === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isMonth = /^\d{4}-(0[1-9]|1[0-2])$/.test(month);
  const [params, setParams] = useSearchParams();
  const kind = lineKinds.find((each) => each === params.get('kind')) ?? 'all';
  return (
    <>
      <PageHeader
        title={t.statementOf({ month: isMonth ? inWords(month) : month })}
        back={[account.path('/billing'), t.title]}
        actions={
          isMonth && (
            <>
              <a href={statementCsvUrl(account.id, month, 'csv')} download className={buttonClass()}>
                <Download size={16} aria-hidden />
                {t.download}
              </a>
              <Button onClick={() => window.print()}>
                <Printer size={16} aria-hidden />
                {t.print}
              </Button>
            </>
          )
        }
      />
      <Listed
        queryKey={billingKey(account.id, 'statement', month, kind)}
        fetch={(cursor, signal) => getStatement(account.id, month, kind === 'all' ? '' : kind, cursor, signal)}
        refetchInterval={liveMs}
      >
        {(pages) => (
          <>
            <Figures statement={pages[0]!.statement} />
            <ByProject statement={pages[0]!.statement} />
            <Section
              title={t.lines}
              description={t.timesIn({ zone })}
              actions={
                <Segmented
                  label={t.kind}
                  value={kind}
                  onChange={(next) => setParams(next === 'all' ? {} : { kind: next }, { replace: true })}
                  options={[{ value: 'all', label: common.all }, ...lineKinds.map((each) => ({ value: each, label: t[each] }))]}
                />
              }
            >
              <Lines lines={pages.flatMap(({ data }) => data)} />
            </Section>
          </>
        )}
      </Listed>
    </>
  );
}

/** What the calls of the month cost by project; nothing for an account that uses only one. */
function ByProject({ statement: { month, from, until } }: { statement: Statement }) {
  const t = useText(billingText);
  const account = useAccount();
  const number = useNumber();
  const projectName = useProjectName();
  const { data } = useQuery({
    queryKey: ['usage', account.id, 'by-project', month],
    queryFn: ({ signal }) => getTotals(account.id, { from, until, group_by: 'project' }, signal),
  });
  if (data === undefined || data.data.length < 2) return null;
  return (
    <Section
      title={t.byProject}
      description={t.byProjectHint}
      actions={
        <a href={statementCsvUrl(account.id, month, 'projects-csv')} download className="link no-print">
          {t.download}
        </a>
      }
    >
      <Card flush className="max-w-2xl">
        <DataTable
          caption={t.byProject}
          rows={data.data}
          rowKey={({ name }) => name ?? ''}
          columns={[
            {
              name: t.project,
              cell: ({ name }) => (
                <Link to={account.path(`/projects/${name}`)} className="link wrap-anywhere">
                  {projectName(name ?? '')}
                </Link>
              ),
            },
            { name: t.calls, numeric: true, cell: ({ calls }) => number(calls) },
            { name: t.charges, usd: ({ charge_usd: charge }) => charge },
          ]}
        />
      </Card>
    </Section>
  );
}

function Figures({ statement }: { statement: Statement }) {
  const t = useText(billingText);
  const account = useAccount();
  const number = useNumber();
  const negative = (usd: string): string => (/^-?0(\.0+)?$/.test(usd) ? usd : usd.startsWith('-') ? usd.slice(1) : `-${usd}`);
  const rows: readonly (readonly [string, string, boolean])[] = [
    [t.netDeposits, statement.deposits_usd, true],
    [t.adjustments, statement.adjustments_usd, true],
    [t.charges, negative(statement.charges_usd), true],
    [t.refunds, statement.refunds_usd, true],
  ];
  const digits = digitsOf([statement.opening_usd, ...rows.map(([, usd]) => usd), statement.closing_usd]);
  const lastDay = new Date(Date.parse(statement.until) - 1).toISOString().slice(0, 10);
  return (
    <>
      <p className="mb-3 text-soft wrap-anywhere">
        {account.name} · {t.statementAbout({ from: statement.from.slice(0, 10), to: lastDay, lines: number(statement.lines) })}
      </p>
      {!statement.is_closed && <Notice>{t.openMonth}</Notice>}
      {statement.has_archived_lines && <Notice>{t.archived}</Notice>}
      <Section title={t.sums}>
        <Card className="max-w-md">
          <dl className="grid grid-cols-[1fr_auto] gap-y-1.5 tabular">
            <dt className="font-semibold">{t.opening}</dt>
            <dd className="text-right font-semibold">
              <Usd value={statement.opening_usd} digits={digits} />
            </dd>
            {rows.map(([name, usd]) => (
              <div key={name} className="contents">
                <dt className="text-soft">{name}</dt>
                <dd className="text-right">
                  <Effect value={usd} digits={digits} />
                </dd>
              </div>
            ))}
            <dt className="border-t border-line pt-1.5 font-semibold">{t.closing}</dt>
            <dd className="border-t border-line pt-1.5 text-right font-semibold">
              <Usd value={statement.closing_usd} digits={digits} />
            </dd>
          </dl>
        </Card>
      </Section>
    </>
  );
}

const tones = {
  deposit: 'good',
  payment_refund: 'info',
  payment_refund_reversal: 'plain',
  charge: 'plain',
  charge_correction: 'plain',
  refund: 'info',
  refund_reversal: 'plain',
  adjustment: 'warn',
  shortfall: 'plain',
} as const;

function Lines({ lines }: { lines: readonly Line[] }) {
  const t = useText(billingText);
  if (lines.length === 0) return <p className="text-soft">{t.noLines}</p>;
  return (
    <Card flush>
      <DataTable
        caption={t.lines}
        dense
        className="two-lines"
        rows={lines}
        rowKey={({ id }) => id}
        columns={[
          { name: t.time, className: 'line-1 grow', cell: ({ created_at }) => <When at={created_at} style="line" /> },
          { name: t.kind, cell: ({ kind }) => <Badge tone={tones[kind]}>{t[kind]}</Badge> },
          { name: t.about, className: 'cut share widest line-2', cell: (line) => <About line={line} /> },
          { name: t.key, className: 'cut share wide line-2', cell: ({ key_id }) => key_id !== null && <KeyLink keyId={key_id} /> },
          {
            name: t.effect,
            className: 'line-1',
            usd: ({ effect_usd }) => effect_usd,
            cell: ({ effect_usd }, digits) => <Effect value={effect_usd} digits={digits} />,
          },
          { name: t.balanceAfter, usd: ({ balance_after_usd }) => balance_after_usd },
        ]}
      />
    </Card>
  );
}

/** Returns the number of an entry, with which its id ends in hexadecimal. The corrected entry may be of an earlier month. */
const entryNumber = (id: string): number => Number.parseInt(id.slice(-16), 16);

function About({ line }: { line: Line }) {
  const t = useText(billingText);
  const account = useAccount();
  const corrects = line.corrects_entry_id === null ? null : t.corrects({ entry: entryNumber(line.corrects_entry_id) });
  const words = [line.reason, corrects].filter((each) => each !== null).join(' · ');
  return (
    <span className="inline-flex max-w-full items-center gap-x-2" title={words === '' ? undefined : words}>
      {line.request_id !== null && <RequestLink requestId={line.request_id} />}
      {line.kind === 'shortfall' && <span className="text-soft">{t.shortfallHint({ usd: usdText(line.amount_usd) })}</span>}
      {line.kind === 'deposit' && (
        <Link to={account.path(`/billing/receipts/${line.id}`)} className="link">
          {t.receipt}
        </Link>
      )}
      {line.source !== null && <span>{t[line.source]}</span>}
      {words !== '' && <span className="min-w-0 overflow-hidden text-soft text-ellipsis">{words}</span>}
    </span>
  );
}
