// One account, for operators: its state, its money, its journal, and the actions on them.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'wouter';
import {
  getAccount,
  type JournalEntry,
  listEntries,
  type OperatorAccountDetail,
  operatorKeys,
  renameAccount,
  setAccountState,
} from '../../../api/operator.js';
import { getAccountBudgets, listProjects } from '../../../api/projects.js';
import { nanoUsdOf } from '../../../format/money.js';
import { budgetsText } from '../../../i18n/budgets.js';
import { commonText } from '../../../i18n/common.js';
import { accountsText } from '../../../i18n/operator.js';
import { rateLimitsText } from '../../../i18n/rate-limits.js';
import { useText } from '../../../i18n/text.js';
import { liveMs } from '../../../session/queries.js';
import { Button, ButtonLink } from '../../../ui/button.js';
import { FormDialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { Card, Empty, Facts, PageHeader, Section, Stat, Stats } from '../../../ui/layout.js';
import { ActionMenu } from '../../../ui/menu.js';
import { fieldError, FormError, Notice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { ShortId, shortId } from '../../../ui/short-id.js';
import { DataTable } from '../../../ui/table.js';
import { Usd, When } from '../../../ui/values.js';
import { Listed } from '../../billing/parts.js';
import { BudgetBars } from '../../projects/budget-bars.js';
import { accountBudgetsKey, projectsKey } from '../../projects/queries.js';
import { useAccountChange } from './account-change.js';
import { AccountRateLimits, RateLimitsDialog } from './account-limits.js';
import { AccountState, LedgerUnavailable } from './accounts.js';
import { MoneyDialog, type MoneyAction } from './money-dialog.js';

export default function AccountPage() {
  const { id = '' } = useParams<{ id: string }>();
  const query = useQuery({ queryKey: operatorKeys.account(id), queryFn: ({ signal }) => getAccount(id, signal), refetchInterval: liveMs });
  const t = useText(accountsText);
  return (
    <>
      {query.data === undefined && <PageHeader title={id} back={['/operator/accounts', t.title]} />}
      <Fetched query={query}>{(account) => <Shown account={account} />}</Fetched>
    </>
  );
}

function Shown({ account }: { account: OperatorAccountDetail }) {
  const [t, rateLimits] = [useText(accountsText), useText(rateLimitsText)];
  const client = useQueryClient();
  const { id, name, state, state_reason, balance } = account;
  const [dialog, setDialog] = useState<'rename' | 'limits' | 'suspend' | 'resume'>();
  const [money, setMoney] = useState<MoneyAction>();
  const [entry, setEntry] = useState<JournalEntry>();
  return (
    <>
      <PageHeader
        title={name}
        back={['/operator/accounts', t.title]}
        actions={
          <>
            <ButtonLink to={`/accounts/${id}`}>{t.open}</ButtonLink>
            <Button onClick={() => setDialog('rename')}>{t.rename}</Button>
            <Button onClick={() => setDialog('limits')}>{rateLimits.edit}</Button>
            <Button
              look={state === 'active' ? 'secondary' : 'primary'}
              onClick={() => setDialog(state === 'active' ? 'suspend' : 'resume')}
            >
              {state === 'active' ? t.suspend : t.resume}
            </Button>
          </>
        }
      />
      {state === 'suspended' && <Notice tone="bad">{t.suspendedBecause({ reason: state_reason ?? '–' })}</Notice>}
      {balance === null && <LedgerUnavailable onRetry={() => client.invalidateQueries({ queryKey: operatorKeys.account(id) })} />}
      <Stats>
        <Stat label={t.available} value={<Usd value={balance?.available_usd ?? null} />} />
        <Stat label={t.held} value={<Usd value={balance?.held_usd ?? null} />} />
        <Stat label={t.spent} value={<Usd value={balance?.spent_usd ?? null} />} />
        <Stat label={t.credited} value={<Usd value={balance?.credited_usd ?? null} />} />
      </Stats>
      <Section>
        <Card>
          <Facts
            facts={[
              [t.accountId, <code key="id">{id}</code>],
              [t.state, <AccountState key="state" state={state} />],
              [
                t.keys,
                <Link key="keys" to={`/accounts/${id}/keys`} className="link">
                  {account.keys}
                </Link>,
              ],
              [rateLimits.title, <AccountRateLimits key="limits" limits={account.rate_limits} />],
              [t.created, <When key="created" at={account.created_at} />],
              [
                t.lastCall,
                account.last_call === null ? (
                  account.away.includes('metering') ? (
                    t.unknown
                  ) : (
                    '–'
                  )
                ) : (
                  <Link key="call" to={`/accounts/${id}/usage/records/${account.last_call.request_id}`} className="link">
                    <When at={account.last_call.at} style="second" />
                  </Link>
                ),
              ],
              [
                t.auditOf,
                <Link key="audit" to={`/operator/audit?account=${id}`} className="link">
                  {t.auditShow}
                </Link>,
              ],
            ]}
          />
        </Card>
      </Section>
      <Budgets accountId={id} />
      <Section
        title={t.journal}
        actions={
          <>
            <Button look="primary" onClick={() => setMoney('credit')}>
              {t.credit}
            </Button>
            <Button onClick={() => setMoney('debit')}>{t.debit}</Button>
          </>
        }
      >
        <Journal
          id={id}
          onReverse={(each) => {
            setEntry(each);
            setMoney('reverse');
          }}
        />
      </Section>
      {dialog === 'limits' && <RateLimitsDialog account={account} onClose={() => setDialog(undefined)} />}
      {dialog === 'rename' && <RenameDialog account={account} onClose={() => setDialog(undefined)} />}
      {(dialog === 'suspend' || dialog === 'resume') && (
        <StateDialog account={account} action={dialog} onClose={() => setDialog(undefined)} />
      )}
      {money !== undefined && <MoneyDialog accountId={id} action={money} entry={entry} onClose={() => setMoney(undefined)} />}
    </>
  );
}

/** The budgets of the account and of its projects; owners and admins change them on the pages of the account. */
function Budgets({ accountId }: { accountId: string }) {
  const t = useText(budgetsText);
  const ofAccount = useQuery({
    queryKey: accountBudgetsKey(accountId),
    queryFn: ({ signal }) => getAccountBudgets(accountId, signal),
    refetchInterval: liveMs,
  });
  const projects = useQuery({ queryKey: projectsKey(accountId), queryFn: ({ signal }) => listProjects(accountId, signal) });
  const limited = projects.data?.filter(({ budgets }) => budgets.length > 0) ?? [];
  return (
    <Section title={t.title}>
      <Fetched query={ofAccount}>
        {({ budgets }) => (
          <Card className="flex flex-col gap-4">
            {(budgets.length > 0 || limited.length === 0) && <BudgetBars budgets={budgets} />}
            {limited.map((project) => (
              <div key={project.id}>
                <span className="text-soft">{t.ofProject}</span>{' '}
                <Link to={`/accounts/${accountId}/projects/${project.id}`} className="link wrap-anywhere">
                  {project.name}
                </Link>
                <BudgetBars budgets={project.budgets} />
              </div>
            ))}
          </Card>
        )}
      </Fetched>
    </Section>
  );
}

function Journal({ id, onReverse }: { id: string; onReverse: (entry: JournalEntry) => void }) {
  const [t, common] = [useText(accountsText), useText(commonText)];
  return (
    <Listed queryKey={operatorKeys.entries(id)} fetch={(cursor, signal) => listEntries(id, cursor, signal)} refetchInterval={liveMs}>
      {(pages) => {
        const entries = pages.flatMap(({ data }) => data);
        if (entries.length === 0) return <Empty title={t.noEntries}>{t.noEntriesHint}</Empty>;
        const numbers = new Map(entries.map((entry) => [entry.id, entry.number]));
        const isReversed = ({ id: entryId, effect_usd: effect }: JournalEntry): boolean =>
          entries
            .filter(({ corrects_entry_id }) => corrects_entry_id === entryId)
            .reduce((left, correction) => left + nanoUsdOf(correction.effect_usd), nanoUsdOf(effect)) === 0n;
        return (
          <Card flush>
            <DataTable
              caption={t.journal}
              dense
              className="two-lines"
              rows={entries}
              rowKey={(entry) => entry.id}
              columns={[
                { name: t.entry, className: 'line-1', cell: ({ number }) => number },
                { name: t.when, className: 'line-1 grow', cell: ({ created_at }) => <When at={created_at} style="second" /> },
                { name: t.kind, className: 'line-2', cell: ({ kind }) => t[kind] },
                { name: t.effect, className: 'line-1', usd: ({ effect_usd }) => effect_usd },
                { name: t.after, usd: ({ balance_after_usd }) => balance_after_usd },
                { name: t.about, className: 'cut line-2', cell: (entry) => <About id={id} entry={entry} numbers={numbers} /> },
                {
                  name: common.actions,
                  hideName: true,
                  className: 'num line-1',
                  cell: (entry) =>
                    reversibleKinds.includes(entry.kind) &&
                    !isReversed(entry) && (
                      <ActionMenu
                        label={t.actionsOf({ number: entry.number })}
                        actions={[{ label: t.reverse, onSelect: () => onReverse(entry) }]}
                      />
                    ),
                },
              ]}
            />
          </Card>
        );
      }}
    </Listed>
  );
}

/** The kinds of entries that can be reversed. */
const reversibleKinds: readonly JournalEntry['kind'][] = [
  'deposit',
  'payment_refund',
  'payment_refund_reversal',
  'adjustment',
  'charge',
  'refund',
];

function About({
  id,
  entry: { request_id, reason, corrects_entry_id: corrects },
  numbers,
}: {
  id: string;
  entry: JournalEntry;
  /** The numbers of the loaded entries, by entry id. */
  numbers: ReadonlyMap<string, number>;
}) {
  const t = useText(accountsText);
  const words = [reason, corrects === null ? null : t.reverses({ entry: numbers.get(corrects) ?? shortId(corrects) })]
    .filter((each) => each !== null)
    .join(' · ');
  return (
    <span className="inline-flex max-w-full items-center gap-2" title={words}>
      {request_id !== null && <ShortId id={request_id} to={`/accounts/${id}/usage/records/${request_id}`} />}
      <span className="min-w-0 overflow-hidden text-ellipsis">{words}</span>
    </span>
  );
}

function RenameDialog({ account: { id, name: before }, onClose }: { account: OperatorAccountDetail; onClose: () => void }) {
  const t = useText(accountsText);
  const common = useText(commonText);
  const [name, setName] = useState(before);
  const rename = useAccountChange(id, () => renameAccount(id, name), t.renamed, onClose);
  return (
    <FormDialog onClose={onClose} title={t.rename} submit={common.save} busy={rename.isPending} onSubmit={() => rename.mutate()}>
      <FormError error={rename.error} fields={['name']} />
      <TextField
        label={t.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={fieldError(rename.error, 'name')}
        required
        maxLength={200}
      />
    </FormDialog>
  );
}

function StateDialog({
  account: { id, name },
  action,
  onClose,
}: {
  account: OperatorAccountDetail;
  action: 'suspend' | 'resume';
  onClose: () => void;
}) {
  const t = useText(accountsText);
  const [reason, setReason] = useState('');
  const isSuspension = action === 'suspend';
  const change = useAccountChange(id, () => setAccountState(id, action, reason), isSuspension ? t.suspended : t.resumedNow, onClose);
  return (
    <FormDialog
      onClose={onClose}
      title={isSuspension ? t.suspendTitle({ name }) : t.resumeTitle({ name })}
      description={isSuspension ? t.suspendAbout : t.resumeAbout}
      submit={isSuspension ? t.suspend : t.resume}
      danger={isSuspension}
      busy={change.isPending}
      onSubmit={() => change.mutate()}
    >
      <FormError error={change.error} fields={['reason']} />
      <TextField
        label={t.reason}
        hint={isSuspension ? t.toldCallers : undefined}
        optional={!isSuspension}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        error={fieldError(change.error, 'reason')}
        required={isSuspension}
        maxLength={350}
      />
    </FormDialog>
  );
}
