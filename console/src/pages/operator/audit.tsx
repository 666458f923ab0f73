// The audit log of the whole installation, for operators: filtered by the address, exported, and verified to be unchanged.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { auditExportUrl, type AuditEvent, type AuditFilter, listAuditEvents, operatorKeys, verifyAuditLog } from '../../api/operator.js';
import { addDays } from '../../format/calendar.js';
import { operatorAuditText } from '../../i18n/operator-audit.js';
import { useText } from '../../i18n/text.js';
import { Button, buttonClass } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card, Empty, PageHeader } from '../../ui/layout.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';
import { ShortId, shortId } from '../../ui/short-id.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { Listed } from '../billing/parts.js';
import { DetailList } from '../users/audit/detail-list.js';

const names = ['actor', 'action', 'account', 'target', 'from', 'until'] as const;

export default function Audit() {
  const t = useText(operatorAuditText);
  const [params, setParams] = useSearchParams();
  const filter = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Record<(typeof names)[number], string>;
  // The end is exclusive in the API. A user who chooses a day means the end of that day.
  const request = { ...filter, until: isDay(filter.until) ? addDays(filter.until, 1) : filter.until };
  const verify = useMutation({ mutationFn: verifyAuditLog });
  return (
    <>
      <PageHeader
        title={t.title}
        description={t.description}
        actions={
          <>
            <Button busy={verify.isPending} onClick={() => verify.mutate()}>
              {t.verify}
            </Button>
            {(['csv', 'jsonl'] as const).map((format) => (
              <a key={format} className={buttonClass()} href={auditExportUrl(request, format)} download>
                {t[format]}
              </a>
            ))}
          </>
        }
      />
      {verify.error !== null && <ErrorNotice error={verify.error} />}
      {verify.data !== undefined && (
        <Notice
          live
          tone={verify.data.ok ? 'good' : 'bad'}
          title={verify.data.ok ? t.verified({ count: verify.data.entries_checked }) : t.changedLog}
        >
          {verify.data.fault ?? (verify.data.last !== null && <LastEntry last={`${verify.data.last.number}:${verify.data.last.hash}`} />)}
        </Notice>
      )}
      <Filter
        key={names.map((name) => filter[name]).join('\n')}
        filter={filter}
        onShow={(next) => setParams(Object.fromEntries(names.flatMap((name) => (next[name] === '' ? [] : [[name, next[name]]]))))}
      />
      <Listed queryKey={[...operatorKeys.audit, filter]} fetch={(cursor, signal) => listAuditEvents(request, cursor, signal)}>
        {(pages) => {
          const entries = pages.flatMap(({ data }) => data);
          return entries.length === 0 ? <Empty title={t.none}>{t.noneHint}</Empty> : <EntryTable entries={entries} />;
        }}
      </Listed>
    </>
  );
}

const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

function LastEntry({ last }: { last: string }) {
  const t = useText(operatorAuditText);
  return (
    <>
      <p className="mb-2">
        {t.lastEntry} <code className="wrap-anywhere">{last}</code>
      </p>
      <CopyButton size="small" text={last} />
    </>
  );
}

function Filter({ filter, onShow }: { filter: AuditFilter; onShow: (filter: AuditFilter) => void }) {
  const t = useText(operatorAuditText);
  const [fields, setFields] = useState(filter);
  const field = (name: (typeof names)[number], more: { hint?: string; type?: string } = {}) => (
    <TextField
      label={t[name]}
      value={fields[name]}
      onChange={(event) => setFields({ ...fields, [name]: event.target.value.trim() })}
      maxLength={200}
      {...more}
    />
  );
  const isEmpty = names.every((name) => filter[name] === '');
  return (
    <Form
      role="search"
      className="mb-5 grid grid-cols-2 items-start gap-3 sm:grid-cols-[repeat(auto-fit,minmax(14rem,1fr))]"
      onSubmit={() => onShow(fields)}
    >
      {field('actor', { hint: t.actorHint })}
      {field('action', { hint: t.actionHint })}
      {field('account')}
      {field('target')}
      {field('from', { type: 'date' })}
      {field('until', { type: 'date' })}
      <div className="flex gap-2 self-end">
        <Button type="submit" look="primary">
          {t.apply}
        </Button>
        {!isEmpty && (
          <Button onClick={() => onShow({ actor: '', action: '', account: '', target: '', from: '', until: '' })}>{t.clear}</Button>
        )}
      </div>
    </Form>
  );
}

function EntryTable({ entries }: { entries: readonly AuditEvent[] }) {
  const t = useText(operatorAuditText);
  return (
    <Card flush>
      <DataTable
        room="much"
        caption={t.title}
        rows={entries}
        rowKey={({ id }) => id}
        columns={[
          { name: t.when, className: 'min-w-34', cell: ({ at }) => <When at={at} style="second" /> },
          {
            name: t.actor,
            className: 'min-w-44 wrap-anywhere',
            cell: ({ actor, address }) => (
              <>
                {actor ?? '–'}
                {address !== null && <span className="block text-sm text-soft">{t.fromAddress({ address })}</span>}
              </>
            ),
          },
          { name: t.action, cell: ({ action }) => <code>{action}</code> },
          { name: t.on, className: 'min-w-36 wrap-anywhere', cell: (entry) => <Target entry={entry} /> },
          { name: t.detail, className: 'w-full text-sm', cell: ({ detail }) => <DetailList detail={detail} /> },
          { name: t.number, numeric: true, cell: ({ number }) => number ?? '–' },
        ]}
      />
    </Card>
  );
}

/** Names, such as those of models, are not shortened. */
const longId = /^[a-z]+_[0-9a-f]{32}$/;

function Target({ entry: { target_id, account_id } }: { entry: AuditEvent }) {
  const target = target_id.startsWith('acct_') ? target_id : account_id;
  return (
    <>
      {target_id !== target && (
        <span className="block">{longId.test(target_id) ? <ShortId id={target_id} /> : <code>{target_id}</code>}</span>
      )}
      {target !== null && (
        <Link to={`/operator/accounts/${target}`} className="link whitespace-nowrap" title={target}>
          <code>{shortId(target)}</code>
        </Link>
      )}
    </>
  );
}
