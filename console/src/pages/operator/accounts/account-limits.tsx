// The rate limits of an account, for operators: of all models together and of single models.
import { useState } from 'react';
import type { OperatorAccountDetail } from '../../../api/operator.js';
import { setAccountRateLimits } from '../../../api/operator.js';
import { emptyRateLimits, type RateLimitForm, rateLimitFaults, rateLimitFormOf, rateLimitsOf } from '../../../format/rate-limits.js';
import { commonText } from '../../../i18n/common.js';
import { rateLimitsText } from '../../../i18n/rate-limits.js';
import { useText } from '../../../i18n/text.js';
import { Button } from '../../../ui/button.js';
import { FormDialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { FormError } from '../../../ui/notice.js';
import { RateLimitFields, RateLimitWords } from '../../keys/form/rate-limit-fields.js';
import { useAccountChange } from './account-change.js';

/** The limits of an account in words. */
export function AccountRateLimits({ limits }: { limits: OperatorAccountDetail['rate_limits'] }) {
  return (
    <>
      <RateLimitWords of="account" limits={limits} />
      {limits.models.map((each) => (
        <span key={each.model_id} className="block">
          <code>{each.model_id}</code>: <RateLimitWords of="account_model" limits={each} />
        </span>
      ))}
    </>
  );
}

interface ModelRow extends RateLimitForm {
  /** Identifies the row while its model id is typed. */
  readonly row: number;
  readonly model: string;
}

/** Changes the limits of an account. */
export function RateLimitsDialog({ account: { id, name, rate_limits }, onClose }: { account: OperatorAccountDetail; onClose: () => void }) {
  const [t, common] = [useText(rateLimitsText), useText(commonText)];
  const [all, setAll] = useState(() => rateLimitFormOf(rate_limits));
  const [rows, setRows] = useState<readonly ModelRow[]>(() =>
    rate_limits.models.map((each, row) => ({ row, model: each.model_id, ...rateLimitFormOf(each) })),
  );
  const [isChecked, setChecked] = useState(false);
  const ids = rows.map(({ model }) => model.trim());
  const hasBadIds = ids.some((model, index) => model === '' || ids.indexOf(model) !== index);
  const hasFaults = hasBadIds || [all, ...rows].some((form) => rateLimitFaults(form).length > 0);
  const change = useAccountChange(
    id,
    () =>
      setAccountRateLimits(id, {
        ...rateLimitsOf(all),
        models: rows.map((row) => ({ model_id: row.model.trim(), ...rateLimitsOf(row) })),
      }),
    t.saved,
    onClose,
  );
  const faultsOf = (form: RateLimitForm) => (isChecked ? rateLimitFaults(form) : []);
  const put = (row: ModelRow): void => setRows(rows.map((each) => (each.row === row.row ? row : each)));
  return (
    <FormDialog
      onClose={onClose}
      title={t.editTitle({ name })}
      description={t.editHint}
      submit={common.save}
      busy={change.isPending}
      onSubmit={() => {
        setChecked(true);
        if (!hasFaults && !change.isPending) change.mutate();
      }}
      noValidate
    >
      <FormError error={change.error} />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium">{t.allModels}</legend>
        <RateLimitFields of="account" form={all} onChange={setAll} faults={faultsOf(all)} />
        <p className="text-sm text-soft">{t.hint}</p>
      </fieldset>
      <fieldset className="flex flex-col gap-4">
        <legend className="mb-2 font-medium">{t.oneModel}</legend>
        {rows.map((row, index) => (
          <div key={row.row} className="flex flex-col gap-2">
            <div className="flex items-end gap-2">
              <TextField
                className="grow"
                label={t.model}
                error={isChecked && (ids[index] === '' || ids.indexOf(ids[index]!) !== index) ? t.modelFault : undefined}
                value={row.model}
                maxLength={200}
                onChange={(event) => put({ ...row, model: event.target.value })}
              />
              <Button aria-label={t.removeModel({ model: row.model })} onClick={() => setRows(rows.filter((each) => each !== row))}>
                {t.remove}
              </Button>
            </div>
            <RateLimitFields of="account_model" form={row} onChange={(form) => put({ ...row, ...form })} faults={faultsOf(row)} />
          </div>
        ))}
        <div>
          <Button onClick={() => setRows([...rows, { row: (rows.at(-1)?.row ?? -1) + 1, model: '', ...emptyRateLimits }])}>
            {t.addModel}
          </Button>
        </div>
      </fieldset>
    </FormDialog>
  );
}
