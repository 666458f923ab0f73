// The choice of when a key expires.
import type { ReactNode } from 'react';
import { useTime, zoneName } from '../../../format/time.js';
import { keysText } from '../../../i18n/keys.js';
import { useText } from '../../../i18n/text.js';
import { type FieldError, SelectField, TextField } from '../../../ui/field.js';
import { expiryChoices, type ExpiryForm, expiryOf } from './key-form.js';

/** A choice of durations, and a field for a custom time. */
export function ExpiryField({
  form,
  onChange,
  error,
}: {
  form: ExpiryForm;
  onChange: (changes: Partial<ExpiryForm>) => void;
  error: FieldError | undefined;
}) {
  const t = useText(keysText);
  const time = useTime();
  const expiry = expiryOf(form, time.zone, Date.now());
  const zone = zoneName(time.zone, form.expiry === 'custom' && expiry instanceof Date ? expiry : new Date());
  const hint: ReactNode = expiry instanceof Date ? t.expiresOn({ when: time.full(expiry) }) : undefined;
  return (
    <>
      <SelectField
        label={t.expires}
        hint={form.expiry === 'custom' ? undefined : hint}
        error={form.expiry === 'custom' ? undefined : error}
        value={form.expiry}
        onChange={(choice) => onChange({ expiry: choice })}
        options={expiryChoices.map((value) => ({
          value,
          label: value === 'never' ? t.expiresNever : value === 'custom' ? t.expiryCustom : t.expiryDays({ days: value }),
        }))}
      />
      {form.expiry === 'custom' && (
        <TextField
          type="datetime-local"
          label={t.expiresAt({ zone })}
          hint={hint}
          error={error}
          required
          value={form.expiresAt}
          onChange={(event) => onChange({ expiresAt: event.target.value })}
        />
      )}
    </>
  );
}
