// Errors of changes to the user's own profile.
import { useState } from 'react';
import { ApiError } from '../../api/client.js';
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { PasswordField } from '../../ui/field.js';
import { FormError, Notice } from '../../ui/notice.js';
import { needsReauthentication, Reauthenticate } from '../security/reauthenticate.js';
import { waitMinutes } from './sign-in/fault.js';

/** Whether the current password was wrong; the error is shown at its field. */
export const isWrongPassword = (error: unknown): boolean => error instanceof ApiError && error.code === 'sign_in_refused';

/** Errors that are not shown at a field. If the user must authenticate again first, they are asked to, and `onRepeat` makes the change again. */
export function ProfileError({ error, fields, onRepeat }: { error: unknown; fields: readonly string[]; onRepeat: () => void }) {
  const t = useText(settingsText);
  /** The error after which the user did not authenticate. */
  const [closed, setClosed] = useState<unknown>();
  if (isWrongPassword(error)) return null;
  if (needsReauthentication(error) && error !== closed) return <Reauthenticate onDone={onRepeat} onClose={() => setClosed(error)} />;
  if (error instanceof ApiError && error.code === 'sign_in_throttled') {
    return (
      <Notice tone="warn" live>
        {t.throttled({ minutes: waitMinutes(error) })}
      </Notice>
    );
  }
  return <FormError error={error} fields={fields} />;
}

/** The field for the current password. `error` is the error of the change. */
export function CurrentPassword({
  value,
  onChange,
  error,
  hint,
}: {
  value: string;
  onChange: (value: string) => void;
  error: unknown;
  hint?: string;
}) {
  const t = useText(settingsText);
  return (
    <PasswordField
      label={t.currentPassword}
      hint={hint}
      name="present-password"
      autoComplete="current-password"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      error={isWrongPassword(error) ? { error, text: t.wrongPassword } : undefined}
    />
  );
}
