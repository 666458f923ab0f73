// All accounts, for operators: found by name or id, with their money.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { newIdempotencyKey } from '../../../api/client.js';
import { createAccount, listAccounts, type OperatorAccount, operatorKeys } from '../../../api/operator.js';
import { commonText } from '../../../i18n/common.js';
import { accountsText } from '../../../i18n/operator.js';
import { useText } from '../../../i18n/text.js';
import { Badge } from '../../../ui/badge.js';
import { Button, CreateButton } from '../../../ui/button.js';
import { FormDialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { Card, Empty, PageHeader } from '../../../ui/layout.js';
import { fieldError, FormError, Notice } from '../../../ui/notice.js';
import { Segmented } from '../../../ui/segmented.js';
import { DataTable } from '../../../ui/table.js';
import { Usd, When } from '../../../ui/values.js';
import { Listed } from '../../billing/parts.js';
import { SearchField } from '../search-field.js';

const states = ['active', 'suspended'] as const;

export default function Accounts() {
  const t = useText(accountsText);
  const [params, setParams] = useSearchParams();
  const [isMaking, setMaking] = useState(false);
  const search = params.get('q') ?? '';
  const state = states.find((each) => each === params.get('state')) ?? 'all';
  const show = (next: { q?: string; state?: string }): void => {
    const wanted = { q: search, state, ...next };
    setParams(
      { ...(wanted.q === '' ? {} : { q: wanted.q }), ...(wanted.state === 'all' ? {} : { state: wanted.state }) },
      { replace: true },
    );
  };
  return (
    <>
      <PageHeader
        title={t.title}
        description={t.description}
        actions={<CreateButton onClick={() => setMaking(true)}>{t.create}</CreateButton>}
      />
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <SearchField label={t.search} value={search} onChange={(q) => show({ q })} />
        <Segmented
          label={t.state}
          value={state}
          onChange={(next) => show({ state: next })}
          options={[{ value: 'all', label: t.all }, ...states.map((each) => ({ value: each, label: t[each] }))]}
        />
      </div>
      <Listed
        queryKey={[...operatorKeys.accounts, search, state]}
        fetch={(cursor, signal) => listAccounts({ search, state: state === 'all' ? '' : state, cursor }, signal)}
      >
        {(pages) => {
          const accounts = pages.flatMap(({ data }) => data);
          return accounts.length === 0 ? <Empty title={t.none}>{t.noneHint}</Empty> : <AccountTable accounts={accounts} />;
        }}
      </Listed>
      {isMaking && <CreateDialog onClose={() => setMaking(false)} />}
    </>
  );
}

/** The state of an account in a word. */
export function AccountState({ state }: { state: OperatorAccount['state'] }) {
  const t = useText(accountsText);
  return (
    <Badge tone={state === 'active' ? 'good' : 'bad'} icon={state === 'active' ? 'ok' : 'stopped'}>
      {t[state]}
    </Badge>
  );
}

function AccountTable({ accounts }: { accounts: readonly OperatorAccount[] }) {
  const t = useText(accountsText);
  const client = useQueryClient();
  return (
    <>
      {accounts.some(({ balance }) => balance === null) && (
        <LedgerUnavailable onRetry={() => client.invalidateQueries({ queryKey: operatorKeys.accounts })} />
      )}
      <Card flush>
        <DataTable
          caption={t.title}
          dense
          className="two-lines"
          rows={accounts}
          rowKey={({ id }) => id}
          columns={[
            {
              name: t.name,
              className: 'line-1 grow max-w-96 overflow-hidden text-ellipsis',
              cell: ({ id, name }) => (
                <Link to={`/operator/accounts/${id}`} className="link" title={name}>
                  {name}
                </Link>
              ),
            },
            { name: t.state, className: 'line-2', cell: ({ state }) => <AccountState state={state} /> },
            // To the cent, which is enough for comparisons; the account's page has the exact amounts.
            {
              name: t.available,
              numeric: true,
              className: 'line-1',
              cell: ({ balance }) => <Usd value={balance?.available_usd ?? null} digits={2} />,
            },
            { name: t.held, numeric: true, cell: ({ balance }) => <Usd value={balance?.held_usd ?? null} digits={2} /> },
            { name: t.keys, numeric: true, cell: ({ keys }) => keys },
            { name: t.created, className: 'line-2', cell: ({ created_at }) => <When at={created_at} style="day" /> },
          ]}
        />
      </Card>
    </>
  );
}

/** Explains why there are no balances. */
export function LedgerUnavailable({ onRetry }: { onRetry: () => Promise<unknown> }) {
  const t = useText(accountsText);
  const common = useText(commonText);
  const retry = useMutation({ mutationFn: onRetry });
  return (
    <Notice
      tone="warn"
      live
      title={t.ledgerUnavailable}
      action={
        <Button size="small" onClick={() => retry.mutate()} busy={retry.isPending}>
          {common.retry}
        </Button>
      }
    >
      {t.ledgerUnavailableHint}
    </Notice>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const t = useText(accountsText);
  const common = useText(commonText);
  const client = useQueryClient();
  const [, go] = useLocation();
  const [name, setName] = useState('');
  const [key] = useState(newIdempotencyKey);
  const create = useMutation({
    mutationFn: () => createAccount(name, key),
    async onSuccess({ id }) {
      await client.invalidateQueries({ queryKey: operatorKeys.accounts });
      go(`/operator/accounts/${id}`);
    },
  });
  return (
    <FormDialog onClose={onClose} title={t.create} submit={common.create} busy={create.isPending} onSubmit={() => create.mutate()}>
      <FormError error={create.error} fields={['name']} />
      <TextField
        label={t.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={fieldError(create.error, 'name')}
        required
        maxLength={200}
      />
    </FormDialog>
  );
}
