// Credits or debits an account, or reverses an entry. Each adds one new entry, however often the form is sent.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { newIdempotencyKey } from '../../../api/client.js';
import { getEntry, getOperatorSettings, type JournalEntry, operatorKeys, postMoney, reverseEntry } from '../../../api/operator.js';
import { nanoUsdOf, typedUsd } from '../../../format/money.js';
import { accountsText } from '../../../i18n/operator.js';
import { useText } from '../../../i18n/text.js';
import { FormDialog } from '../../../ui/dialog.js';
import { SelectField, TextField } from '../../../ui/field.js';
import { fieldError, FormError } from '../../../ui/notice.js';
import { Facts } from '../../../ui/layout.js';
import { Fetched } from '../../../ui/query.js';
import { Usd } from '../../../ui/values.js';
import { toast } from '../../../ui/toasts/toast.js';

export type MoneyAction = 'credit' | 'debit' | 'reverse';
const sources = ['cash', 'promotion', 'correction'] as const;

interface Fields {
  readonly amount: string;
  readonly again: string;
  readonly source: (typeof sources)[number];
  readonly reason: string;
  readonly reference: string;
}

const noFields: Fields = { amount: '', again: '', source: 'cash', reason: '', reference: '' };
const amountForm = /^\d{1,10}(\.\d{1,9})?$/;

/** `entry` is the one to be reversed. */
export function MoneyDialog({
  accountId,
  action,
  entry,
  onClose,
}: {
  accountId: string;
  action: MoneyAction;
  entry: JournalEntry | undefined;
  onClose: () => void;
}) {
  const t = useText(accountsText);
  const client = useQueryClient();
  const settings = useQuery({ queryKey: operatorKeys.settings, queryFn: ({ signal }) => getOperatorSettings(signal), staleTime: Infinity });
  // What is left of the entry, which is less than its amount if other entries correct it.
  const detail = useQuery({
    queryKey: operatorKeys.entry(accountId, entry?.id ?? ''),
    queryFn: ({ signal }) => getEntry(accountId, entry!.id, signal),
    enabled: action === 'reverse',
  });
  const [fields, setFields] = useState(noFields);
  // One key for as long as the dialog is open: after a lost response, a form with another amount must not create a second entry.
  const [idempotencyKey] = useState(newIdempotencyKey);
  const set = (change: Partial<Fields>): void => setFields({ ...fields, ...change });
  const amount = action === 'reverse' ? (detail.data?.reversible_usd ?? '') : typedUsd(fields.amount);
  const above = settings.data?.confirm_above_usd;
  const isLarge = above !== undefined && amountForm.test(amount) && nanoUsdOf(amount) > nanoUsdOf(above);
  const post = useMutation({
    mutationFn() {
      const { reason, reference, source, again } = fields;
      const confirm = isLarge ? { confirm_amount_usd: typedUsd(again) } : {};
      if (action === 'reverse') return reverseEntry(accountId, entry!.id, { reason, ...confirm });
      const body = { amount_usd: amount, reason, ...(reference === '' ? {} : { reference }), ...confirm };
      return postMoney(
        accountId,
        action === 'credit' ? 'credits' : 'debits',
        action === 'credit' ? { ...body, source } : body,
        idempotencyKey,
      );
    },
    onSuccess() {
      toast({ credit: t.credited_now, debit: t.debited_now, reverse: t.reversed }[action]);
      onClose();
    },
    // Also after an error: the entry of a lost response is in the journal.
    onSettled: () =>
      Promise.all(
        [operatorKeys.account(accountId), operatorKeys.entries(accountId), operatorKeys.accounts].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      ),
  });
  const title = { credit: t.creditTitle, debit: t.debitTitle, reverse: t.reverseTitle({ number: entry?.number ?? 0 }) }[action];
  const word = { credit: t.credit, debit: t.debit, reverse: t.reverse }[action];
  const error = (field: string) => fieldError(post.error, field);
  return (
    <FormDialog
      onClose={onClose}
      title={title}
      description={action === 'reverse' ? t.reverseAbout : t.moneyAbout}
      submit={word}
      danger={action !== 'credit'}
      busy={post.isPending}
      onSubmit={() => post.mutate()}
    >
      <FormError error={post.error} fields={['amount_usd', ...(isLarge ? ['confirm_amount_usd'] : []), 'reason', 'reference']} />
      {action === 'reverse' && (
        <Fetched query={detail}>
          {({ corrections, reversible_usd: reversible }) => (
            <Facts
              facts={[
                [t.amount, <Usd exact key="amount" value={entry!.amount_usd} />],
                corrections.length > 0 && [t.correctedBy, corrections.map(({ number }) => number).join(', ')],
                [t.reversible, <Usd exact key="reversible" value={reversible} />],
              ]}
            />
          )}
        </Fetched>
      )}
      {action !== 'reverse' && (
        <TextField
          label={t.amount}
          inputMode="decimal"
          value={fields.amount}
          onChange={(event) => set({ amount: event.target.value })}
          error={error('amount_usd')}
          required
        />
      )}
      {isLarge && (
        <TextField
          label={t.amountAgain}
          hint={t.amountAgainHint({ amount: above })}
          inputMode="decimal"
          value={fields.again}
          onChange={(event) => set({ again: event.target.value })}
          error={error('confirm_amount_usd')}
          required
        />
      )}
      {action === 'credit' && (
        <SelectField
          label={t.source}
          value={fields.source}
          onChange={(source) => set({ source })}
          options={sources.map((value) => ({ value, label: t[value] }))}
        />
      )}
      <TextField
        label={t.reason}
        hint={t.reasonHint}
        value={fields.reason}
        onChange={(event) => set({ reason: event.target.value })}
        error={error('reason')}
        required
        maxLength={350}
      />
      {action !== 'reverse' && (
        <TextField
          label={t.reference}
          hint={t.referenceHint}
          optional
          value={fields.reference}
          onChange={(event) => set({ reference: event.target.value })}
          error={error('reference')}
          maxLength={100}
        />
      )}
    </FormDialog>
  );
}
