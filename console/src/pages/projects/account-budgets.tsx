// The budgets of the account itself, and the time zone in which the periods of all budgets begin.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type AccountBudgets, getAccountBudgets, updateAccountBudgets } from '../../api/projects.js';
import {
  budgetPeriods,
  type BudgetRow,
  budgetRowsOf,
  budgetsOf,
  hasBudgetFaults,
  newBudgetRow,
  sameBudgets,
} from '../../format/budgets.js';
import { budgetsText } from '../../i18n/budgets.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button } from '../../ui/button.js';
import { FormDialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Card, Facts, Section } from '../../ui/layout.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { toast } from '../../ui/toasts/toast.js';
import { BudgetBars } from './budget-bars.js';
import { BudgetFields } from './budget-fields.js';
import { accountBudgetsKey, useProjectsChanged } from './queries.js';

const refetchMs = 5000;
const zonesId = 'time-zones';

/** Shows them, and changes them for owners and admins. */
export function AccountBudgetSection() {
  const account = useAccount();
  const t = useText(budgetsText);
  const [isEditing, setEditing] = useState(false);
  const query = useQuery({
    queryKey: accountBudgetsKey(account.id),
    queryFn: ({ signal }) => getAccountBudgets(account.id, signal),
    refetchInterval: refetchMs,
  });
  return (
    <Section
      title={t.ofAccount}
      description={t.ofAccountHint}
      actions={
        account.can('change projects') &&
        query.data !== undefined && <Button onClick={() => setEditing(true)}>{query.data.budgets.length === 0 ? t.set : t.edit}</Button>
      }
    >
      <Fetched query={query}>
        {(present) => (
          <>
            <Card className="flex flex-col gap-4">
              <BudgetBars budgets={present.budgets} />
              <Facts facts={[[t.timeZone, present.time_zone]]} />
            </Card>
            {isEditing && <EditDialog present={present} onClose={() => setEditing(false)} />}
          </>
        )}
      </Fetched>
    </Section>
  );
}

function EditDialog({ present, onClose }: { present: AccountBudgets; onClose: () => void }) {
  const account = useAccount();
  const [t, common] = [useText(budgetsText), useText(commonText)];
  const [before] = useState(() => budgetRowsOf(present.budgets));
  // Begins with an empty amount. It counts as no budget until it is filled, so that only the time zone can be changed.
  const [suggested] = useState(() => (before.length === 0 ? newBudgetRow([], budgetPeriods) : undefined));
  const [rows, setRows] = useState<readonly BudgetRow[]>(suggested === undefined ? before : [suggested]);
  const limitRef = useRef<HTMLInputElement>(null);
  // Another user may change the present one meanwhile.
  const [zoneBefore] = useState(present.time_zone);
  const [timeZone, setTimeZone] = useState(zoneBefore);
  const [isChecked, setChecked] = useState(false);
  const changed = useProjectsChanged();
  const isSameZone = timeZone.trim() === zoneBefore;
  const meant = isSameZone ? rows : rows.filter((row) => row !== suggested);
  const saving = useMutation({
    mutationFn: () => {
      const changes = {
        ...(sameBudgets(before, meant) ? {} : { budgets: budgetsOf(meant) }),
        ...(isSameZone ? {} : { time_zone: timeZone.trim() }),
      };
      return Object.keys(changes).length === 0 ? Promise.resolve(present) : updateAccountBudgets(account.id, changes);
    },
    onSuccess: () => {
      changed();
      toast(t.saved);
      onClose();
    },
  });

  function submit(): void {
    setChecked(true);
    if (!hasBudgetFaults(meant) && !saving.isPending) saving.mutate();
  }

  return (
    <FormDialog
      wide
      onClose={onClose}
      title={t.editTitle}
      initialFocus={suggested === undefined ? undefined : limitRef}
      submit={common.save}
      busy={saving.isPending}
      onSubmit={submit}
      noValidate
    >
      <FormError error={saving.error} fields={['budgets', 'time_zone']} />
      <BudgetFields rows={rows} onChange={setRows} isChecked={isChecked} limitRef={limitRef} error={fieldError(saving.error, 'budgets')} />
      <Field label={t.timeZone} hint={t.timeZoneHint} error={fieldError(saving.error, 'time_zone')}>
        {(ids) => (
          <>
            <input
              {...ids}
              className="control"
              type="text"
              autoComplete="off"
              list={zonesId}
              value={timeZone}
              maxLength={64}
              onChange={(event) => setTimeZone(event.target.value)}
            />
            <datalist id={zonesId}>
              {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
          </>
        )}
      </Field>
    </FormDialog>
  );
}
