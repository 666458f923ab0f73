// The fields of budgets, of keys, projects and accounts.
import type { RefObject } from 'react';
import type { BudgetPeriod } from '../../api/projects.js';
import { budgetFaults, budgetPeriods, type BudgetRow, budgetsMax, newBudgetRow } from '../../format/budgets.js';
import { budgetsText } from '../../i18n/budgets.js';
import { useText } from '../../i18n/text.js';
import { Button } from '../../ui/button.js';
import { CheckField, type FieldError, SelectField, TextField, useFieldError } from '../../ui/field.js';

/** `isChecked` shows the faults, `error` is what the API refused, `limitRef` is the limit of the first row. */
export function BudgetFields({
  rows,
  onChange,
  isChecked,
  error,
  periods = budgetPeriods,
  max = budgetsMax,
  limitRef,
}: {
  rows: readonly BudgetRow[];
  onChange: (rows: readonly BudgetRow[]) => void;
  isChecked: boolean;
  error?: FieldError | undefined;
  periods?: readonly BudgetPeriod[];
  max?: number;
  limitRef?: RefObject<HTMLInputElement | null>;
}) {
  const t = useText(budgetsText);
  const [refusal, onInput] = useFieldError(error);
  const faults = isChecked ? budgetFaults(rows) : [];
  const put = (row: BudgetRow): void => onChange(rows.map((each) => (each.row === row.row ? row : each)));
  return (
    <fieldset className="flex flex-col gap-4" onInput={onInput}>
      <legend className="mb-2 text-sm font-medium">{t.title}</legend>
      {refusal !== undefined && (
        <p role="alert" className="text-sm text-bad">
          {refusal}
        </p>
      )}
      {rows.map((row, index) => (
        <div key={row.row} role="group" aria-label={t[row.period]} className="flex flex-col gap-3 rounded-md border border-line p-3">
          <div className="grid gap-3 sm:grid-cols-2">
            <SelectField
              label={t.period}
              error={faults[index]?.period === undefined ? undefined : t.faultTwice}
              value={row.period}
              onChange={(period) => put({ ...row, period })}
              options={periods.map((value) => ({ value, label: t[value] }))}
            />
            <TextField
              ref={index === 0 ? limitRef : undefined}
              label={t.limit}
              error={faults[index]?.limit === undefined ? undefined : t.faultLimit}
              required
              inputMode="decimal"
              value={row.limit}
              onChange={(event) => put({ ...row, limit: event.target.value })}
            />
          </div>
          <TextField
            label={t.alerts}
            hint={t.alertsHint}
            error={faults[index]?.alerts === undefined ? undefined : faults[index].alerts === 'none' ? t.faultNoAlerts : t.faultAlerts}
            value={row.alerts}
            onChange={(event) => put({ ...row, alerts: event.target.value })}
          />
          <div className="flex flex-wrap items-center justify-between gap-3">
            <CheckField label={t.softLabel} checked={row.soft} onChange={(soft) => put({ ...row, soft })} />
            <Button
              size="small"
              aria-label={t.removeOf({ period: t[row.period] })}
              onClick={() => onChange(rows.filter((each) => each !== row))}
            >
              {t.remove}
            </Button>
          </div>
        </div>
      ))}
      {rows.length > 0 && <p className="text-sm text-soft">{t.startHint}</p>}
      {rows.length < max && (
        <div>
          <Button size="small" onClick={() => onChange([...rows, newBudgetRow(rows, periods)])}>
            {t.add}
          </Button>
        </div>
      )}
    </fieldset>
  );
}
