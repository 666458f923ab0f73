// Refused calls: how many for which reason, and examples. The filter is in the address.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { getRefusalTotals, listRefusals, type RefusalFilter } from '../../api/refusals.js';
import { gatewayUrl } from '../../base.js';
import { useNumber } from '../../format/number.js';
import { refusalText } from '../../i18n/refusals.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Card, Empty, PageHeader, Section } from '../../ui/layout.js';
import { fieldError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { Listed } from '../billing/parts.js';
import { useProjects } from '../projects/queries.js';
import { useKeyNames } from '../usage/use-view.js';
import { RefusalTable } from './refusal-table.js';

const hourMs = 3_600_000;
const ranges = { '24h': 24 * hourMs, '7d': 7 * 24 * hourMs, '30d': 30 * 24 * hourMs };
type Range = keyof typeof ranges;

const names = ['range', 'project', 'key', 'reason', 'request_id'] as const;
type Fields = Readonly<Record<(typeof names)[number], string>>;
const noFields: Fields = { range: '', project: '', key: '', reason: '', request_id: '' };

const isRange = (text: string): text is Range => Object.hasOwn(ranges, text);

export default function Refusals() {
  const t = useText(refusalText);
  const account = useAccount();
  const [params, setParams] = useSearchParams();
  const fields = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Fields;
  const filter = filterOf(fields);
  const show = (next: Fields): void =>
    setParams(Object.fromEntries(names.flatMap((name) => (next[name] === '' ? [] : [[name, next[name]]]))));
  const { request_id: _requestId, ...counted } = filter;
  const byReason = { ...counted, group_by: 'reason' as const };
  const totals = useQuery({
    queryKey: ['refusals', account.id, 'totals', byReason],
    queryFn: ({ signal }) => getRefusalTotals(account.id, byReason, signal),
  });
  const count = useNumber();
  return (
    <>
      <PageHeader title={t.title} description={t.about} actions={<ButtonLink to={account.path('/usage')}>{t.usage}</ButtonLink>} />
      <Filter key={names.map((name) => fields[name]).join('\n')} fields={fields} error={totals.error} onShow={show} />
      {fields.request_id === '' && (
        <Fetched query={totals}>
          {({ data }) =>
            data.length > 0 && (
              <Section
                title={t.byReason}
                actions={
                  <a className="link" href={`${gatewayUrl}docs/errors`}>
                    {t.errorsPage}
                  </a>
                }
              >
                <Card flush>
                  <DataTable
                    caption={t.byReason}
                    rows={data}
                    rowKey={({ name }) => name ?? ''}
                    columns={[
                      {
                        name: t.reason,
                        cell: ({ name }) => (
                          <button type="button" className="link min-h-10" onClick={() => show({ ...fields, reason: name ?? '' })}>
                            <code>{name}</code>
                          </button>
                        ),
                      },
                      { name: t.calls, numeric: true, cell: ({ calls }) => count(calls) },
                    ]}
                  />
                </Card>
              </Section>
            )
          }
        </Fetched>
      )}
      <Section title={t.examples}>
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

/** Returns the filter of the API. Ranges begin with a whole hour, so that counts and examples are of the same time, and no rendering changes the filter. */
function filterOf({ range, project, key, reason, request_id }: Fields): Partial<RefusalFilter> {
  const startMs = Date.now() - (isRange(range) ? ranges[range] : ranges['7d']);
  return {
    ...(request_id === '' ? { from: new Date(startMs - (startMs % hourMs)).toISOString() } : { request_id }),
    ...(project === '' ? {} : { project }),
    ...(key === '' ? {} : { key }),
    ...(reason === '' ? {} : { reason }),
  };
}

function Filter({ fields, error, onShow }: { fields: Fields; error: unknown; onShow: (fields: Fields) => void }) {
  const t = useText(refusalText);
  const { keys, nameOf } = useKeyNames();
  const projects = useProjects().data ?? [];
  const [chosen, setChosen] = useState(fields);
  const set = (change: Partial<Fields>): void => setChosen({ ...chosen, ...change });
  return (
    <form
      role="search"
      className="mb-5 grid grid-cols-2 items-start gap-3 sm:grid-cols-[repeat(auto-fit,minmax(11rem,1fr))]"
      onSubmit={(event) => {
        event.preventDefault();
        onShow(chosen);
      }}
    >
      <SelectField<Range>
        label={t.range}
        value={isRange(chosen.range) ? chosen.range : '7d'}
        onChange={(range) => set({ range })}
        options={(Object.keys(ranges) as Range[]).map((value) => ({ value, label: t[`range.${value}`] }))}
      />
      <SelectField
        label={t.project}
        value={chosen.project}
        onChange={(project) => set({ project })}
        options={[{ value: '', label: t.anyProject }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      <SelectField
        label={t.key}
        value={chosen.key}
        onChange={(key) => set({ key })}
        options={[
          { value: '', label: t.anyKey },
          ...keyIdsOf(
            keys.map(({ id }) => id),
            chosen.key,
          ).map((value) => ({ value, label: nameOf(value) })),
        ]}
      />
      <TextField
        label={t.reason}
        placeholder={t.anyReason}
        spellCheck={false}
        error={fieldError(error, 'reason')}
        value={chosen.reason}
        onChange={(event) => set({ reason: event.target.value.trim() })}
      />
      <TextField
        label={t.requestId}
        hint={t.requestIdHint}
        spellCheck={false}
        value={chosen.request_id}
        onChange={(event) => set({ request_id: event.target.value.trim() })}
      />
      <div className="flex flex-wrap gap-2 self-end">
        <Button type="submit" look="primary">
          {t.apply}
        </Button>
        {names.some((name) => fields[name] !== '') && <Button onClick={() => onShow(noFields)}>{t.clear}</Button>}
      </div>
    </form>
  );
}

/** Returns the ids, with that from the address if it is not among them. */
function keyIdsOf(known: readonly string[], chosen: string): readonly string[] {
  return chosen === '' || known.includes(chosen) ? known : [chosen, ...known];
}
