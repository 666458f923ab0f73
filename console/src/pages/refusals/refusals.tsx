// Refused calls: how many, in groups and over time, and each of them. The filter is in the address.
import { useQuery } from '@tanstack/react-query';
import { SlidersHorizontal } from 'lucide-react';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { getRefusalTotals, listRefusals, type RefusalFilter, type RefusalTotal } from '../../api/refusals.js';
import { gatewayUrl } from '../../base.js';
import { daysIn, hoursIn, type OffsetAt, type Part, partsOf, startOfDayAgo } from '../../format/calendar.js';
import { useNumber } from '../../format/number.js';
import { useOffsetAt, useZone } from '../../format/time.js';
import { refusalText } from '../../i18n/refusals.js';
import { useLanguage, useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { ZoneChoice } from '../../shell/choices.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { classNames } from '../../ui/class-names.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card, Empty, PageHeader, Section } from '../../ui/layout.js';
import { fieldError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { Segmented } from '../../ui/segmented.js';
import { DataTable } from '../../ui/table.js';
import { Listed } from '../billing/parts.js';
import { StackedBars } from '../../ui/charts/stacked-bars.js';
import { useCatalog } from '../keys/queries.js';
import { useProjectName, useProjects } from '../projects/queries.js';
import { useKeyNames } from '../keys/key-names.js';
import { refusalReasons, useReasonName } from './reasons.js';
import { RefusalTable } from './refusal-table.js';

const hourMs = 3_600_000;
const ranges = ['24h', '7d', '30d'] as const;
type Range = (typeof ranges)[number];
const rangeDefault = '7d';

const names = ['range', 'project', 'key', 'model', 'reason', 'request_id', 'group'] as const;
type Fields = Readonly<Record<(typeof names)[number], string>>;
const noFields: Fields = { range: '', project: '', key: '', model: '', reason: '', request_id: '', group: '' };

const groupings = ['reason', 'key', 'project', 'model'] as const;
type Grouping = (typeof groupings)[number];

const rangeOf = ({ range }: Fields): Range => ranges.find((each) => each === range) ?? rangeDefault;

export default function Refusals() {
  const t = useText(refusalText);
  const account = useAccount();
  const [params, setParams] = useSearchParams();
  const fields = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Fields;
  const group = groupings.find((each) => each === fields.group) ?? 'reason';
  const filter = filterOf(fields, useOffsetAt());
  const show = (next: Fields): void =>
    setParams(Object.fromEntries(names.flatMap((name) => (next[name] === '' ? [] : [[name, next[name]]]))));
  const { request_id: _requestId, ...counted } = filter;
  const byGroup = { ...counted, group_by: group };
  const totals = useQuery({
    queryKey: ['refusals', account.id, 'totals', byGroup],
    queryFn: ({ signal }) => getRefusalTotals(account.id, byGroup, signal),
  });
  return (
    <>
      <PageHeader title={t.title} description={t.about} actions={<ButtonLink to={account.path('/usage')}>{t.usage}</ButtonLink>} />
      <Filter key={names.map((name) => fields[name]).join('\n')} fields={fields} error={totals.error} onShow={show} />
      {fields.request_id === '' && (
        <Fetched query={totals}>
          {({ data }) =>
            data.length > 0 && (
              <Section
                title={t.counts}
                description={
                  <a className="link" href={`${gatewayUrl}docs/errors`}>
                    {t.errorsPage}
                  </a>
                }
                actions={
                  <>
                    <ZoneChoice />
                    <Segmented<Grouping>
                      label={t.groupBy}
                      value={group}
                      onChange={(next) => show({ ...fields, group: next === 'reason' ? '' : next })}
                      options={groupings.map((value) => ({ value, label: t[value] }))}
                    />
                  </>
                }
              >
                <OverTime filter={counted} hourly={fields.range === '24h'} />
                <Card flush>
                  <Groups group={group} totals={data} onChoose={(name) => show({ ...fields, [group]: name })} />
                </Card>
              </Section>
            )
          }
        </Fetched>
      )}
      <Section title={t.list}>
        <Listed
          queryKey={['refusals', account.id, 'list', filter]}
          fetch={(cursor, signal) => listRefusals(account.id, filter, cursor, signal)}
        >
          {(pages) => {
            const rows = pages.flatMap(({ data }) => data);
            return rows.length === 0 ? <Empty title={t.none}>{t.noneHint}</Empty> : <RefusalTable rows={rows} />;
          }}
        </Listed>
      </Section>
    </>
  );
}

/** Shows the count of each group. Choosing a group filters by it. */
function Groups({ group, totals, onChoose }: { group: Grouping; totals: readonly RefusalTotal[]; onChoose: (name: string) => void }) {
  const t = useText(refusalText);
  const count = useNumber();
  const { nameOf } = useKeyNames();
  const projectName = useProjectName();
  const reasonName = useReasonName();
  const nameIn: Readonly<Record<Grouping, (name: string) => string>> = {
    reason: reasonName,
    key: nameOf,
    project: projectName,
    model: (name) => name,
  };
  const sum = totals.reduce((all, { calls }) => all + calls, 0);
  return (
    <DataTable
      caption={t.counts}
      rows={totals}
      rowKey={({ name }) => name ?? ''}
      columns={[
        {
          name: t[group],
          cell: ({ name }) =>
            name === null ? (
              t.noModel
            ) : (
              <button type="button" className="link text-left wrap-anywhere" title={name} onClick={() => onChoose(name)}>
                {nameIn[group](name)}
              </button>
            ),
        },
        { name: t.title, numeric: true, cell: ({ calls }) => count(calls) },
        { name: t.share, numeric: true, cell: ({ calls }) => `${((100 * calls) / sum).toFixed(1)}%` },
      ]}
    />
  );
}

const seriesMax = 6;

/** Counts by hour or day, stacked by reason. */
function OverTime({ filter, hourly }: { filter: Partial<RefusalFilter>; hourly: boolean }) {
  const t = useText(refusalText);
  const account = useAccount();
  const language = useLanguage();
  const zone = useZone();
  const count = useNumber();
  const reasonName = useReasonName();
  const offsetAt = useOffsetAt();
  const grain = hourly ? 'hour' : 'day';
  const fromMs = Date.parse(filter.from ?? '');
  // Days and hours of each part of the range between two changes of the clocks; an open range stays open.
  const totalsOf = ({ fromMs: partMs, untilMs, offsetMinutes }: Part, isLast: boolean, signal: AbortSignal) => {
    const from = new Date(partMs).toISOString();
    const until = isLast ? {} : { until: new Date(untilMs).toISOString() };
    const grouping = { group_by: grain, then_by: 'reason', tz_offset: String(offsetMinutes) } as const;
    return getRefusalTotals(account.id, { ...filter, from, ...until, ...grouping }, signal);
  };
  const { data: parts } = useQuery({
    queryKey: ['refusals', account.id, 'over-time', filter, grain, zone],
    queryFn: ({ signal }) =>
      Promise.all(partsOf(fromMs, Date.now(), offsetAt).map((part, at, all) => totalsOf(part, at === all.length - 1, signal))),
  });
  if (parts === undefined) return null;
  const totals = parts.flatMap(({ data }) => data).toSorted((a, b) => b.calls - a.calls);
  const idOf = (name: string): string => (hourly ? String(Date.parse(name)) : name);
  const ids = hourly ? hoursIn(fromMs, Date.now(), offsetAt).map(String) : daysIn(fromMs, Date.now(), offsetAt);
  const reasons = [...new Set(totals.map(({ then_name }) => then_name ?? ''))];
  const shown = reasons.slice(0, seriesMax);
  const callsOf = (id: string, at: number): number =>
    totals
      .filter(
        ({ name, then_name: reason }) =>
          idOf(name ?? '') === id && (at < shown.length ? reason === shown[at] : !shown.includes(reason ?? '')),
      )
      .reduce((sum, { calls }) => sum + calls, 0);
  const series = [...shown.map(reasonName), ...(reasons.length > seriesMax ? [t.other] : [])];
  const values = ids.map((id) => series.map((_, at) => callsOf(id, at)));
  const format = new Intl.DateTimeFormat(language, {
    month: 'short',
    day: 'numeric',
    // With the day, because the range begins with the same hour as it ends.
    ...(hourly ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } : {}),
    ...(hourly && zone === 'local' ? {} : { timeZone: 'UTC' }),
  });
  return (
    <Card className="mb-4">
      <StackedBars
        title={hourly ? t.byHour : t.byDay}
        series={series}
        bars={ids.map((id, at) => ({ id, label: format.format(hourly ? Number(id) : Date.parse(id)), values: values[at]! }))}
        text={(bar, at) => count(values[bar]![at]!)}
        totalText={(bar) => count(values[bar]!.reduce((sum, value) => sum + value, 0))}
        axisText={count}
        labelName={hourly ? t.hour : t.day}
        totalName={t.title}
      />
    </Card>
  );
}

/**
 * Returns the filter of the API. Ranges begin with a whole hour or, as on the usage pages, with a day of the zone, so that counts and examples are of
 * the same time, and no rendering changes the filter.
 */
function filterOf(fields: Fields, offsetAt: OffsetAt): Partial<RefusalFilter> {
  const { project, key, model, reason, request_id } = fields;
  return {
    ...(request_id === '' ? { from: new Date(startOf(rangeOf(fields), Date.now(), offsetAt)).toISOString() } : { request_id }),
    ...(project === '' ? {} : { project }),
    ...(key === '' ? {} : { key }),
    ...(model === '' ? {} : { model }),
    ...(reason === '' ? {} : { reason }),
  };
}

function startOf(range: Range, nowMs: number, offsetAt: OffsetAt): number {
  if (range !== '24h') return startOfDayAgo(Number(range.slice(0, -1)) - 1, nowMs, offsetAt);
  const startMs = nowMs - 24 * hourMs;
  return startMs - (startMs % hourMs);
}

function Filter({ fields, error, onShow }: { fields: Fields; error: unknown; onShow: (fields: Fields) => void }) {
  const t = useText(refusalText);
  const { keys, nameOf } = useKeyNames();
  const projects = useProjects().data ?? [];
  const reasonName = useReasonName();
  const models = useCatalog().data?.map(({ id }) => id) ?? [];
  const [requestId, setRequestId] = useState(fields.request_id);
  /** On a phone. The form is recreated after each change, and stays open. */
  const [isShown, setShown] = useState(names.some((name) => name !== 'group' && fields[name] !== ''));
  const set = (change: Partial<Fields>): void => onShow({ ...fields, ...change });
  return (
    <>
      <Button className="mb-4 sm:hidden" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
        <SlidersHorizontal size={16} aria-hidden />
        {t.filters}
      </Button>
      <Form
        role="search"
        className={classNames(
          'mb-5 grid grid-cols-2 items-start gap-3 sm:grid-cols-[repeat(auto-fit,minmax(9rem,1fr))]',
          !isShown && 'max-sm:hidden',
        )}
        onSubmit={() => onShow({ ...fields, request_id: requestId })}
      >
        <SelectField<Range>
          label={t.range}
          value={rangeOf(fields)}
          onChange={(range) => set({ range })}
          options={ranges.map((value) => ({ value, label: t[`range.${value}`] }))}
        />
        <SelectField
          label={t.project}
          value={fields.project}
          onChange={(project) => set({ project })}
          options={[{ value: '', label: t.anyProject }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
        />
        <SelectField
          label={t.key}
          value={fields.key}
          onChange={(key) => set({ key })}
          options={[
            { value: '', label: t.anyKey },
            ...keyIdsOf(
              keys.map(({ id }) => id),
              fields.key,
            ).map((value) => ({ value, label: nameOf(value) })),
          ]}
        />
        <SelectField
          label={t.reason}
          error={fieldError(error, 'reason')}
          value={fields.reason}
          onChange={(reason) => set({ reason })}
          options={[
            { value: '', label: t.anyReason },
            ...keyIdsOf(refusalReasons, fields.reason).map((value) => ({ value, label: reasonName(value) })),
          ]}
        />
        <SelectField
          label={t.model}
          value={fields.model}
          onChange={(model) => set({ model })}
          options={[{ value: '', label: t.anyModel }, ...keyIdsOf(models, fields.model).map((value) => ({ value, label: value }))]}
        />
        <TextField
          label={t.requestId}
          placeholder={t.requestIdHint}
          spellCheck={false}
          value={requestId}
          onChange={(event) => setRequestId(event.target.value.trim())}
        />
        {names.some((name) => fields[name] !== '') && (
          <Button className="sm:mt-6" onClick={() => onShow(noFields)}>
            {t.clear}
          </Button>
        )}
      </Form>
    </>
  );
}

/** Returns the ids, with that from the address if it is not among them. */
function keyIdsOf(known: readonly string[], chosen: string): readonly string[] {
  return chosen === '' || known.includes(chosen) ? known : [chosen, ...known];
}
