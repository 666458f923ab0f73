// Errors of sign-in and sign-up, in helpful words.
import { ApiError } from '../../../api/client.js';
import { signInText } from '../../../i18n/sign-in.js';
import { useText } from '../../../i18n/text.js';
import { FormError, Notice } from '../../../ui/notice.js';

/** Minutes to wait, at least one. */
export const waitMinutes = (error: ApiError): number => Math.max(1, Math.ceil((error.retryAfter ?? 60) / 60));

/** `refused` is the text for a wrong password or an expired link. */
export function SignInFault({ error, refused, fields = [] }: { error: unknown; refused?: string; fields?: readonly string[] }) {
  const t = useText(signInText);
  if (!(error instanceof ApiError)) return <FormError error={error} />;
  // Other rules of this code are about the second step, and say what was wrong.
  if (error.code === 'sign_in_refused' && error.rule === 'sign_in_refused') {
    return (
      <Notice tone="bad" live>
        {refused ?? t.refused}
      </Notice>
    );
  }
  if (error.code === 'sign_in_throttled') {
    return (
      <Notice tone="warn" live>
        {/* The other rules also limit sign-ins with a link. */}
        {(error.rule === 'failures_throttled' ? t.throttled : t.attemptsThrottled)({ minutes: waitMinutes(error) })}
      </Notice>
    );
  }
  if (error.code === 'overloaded') {
    return (
      <Notice tone="warn" live>
        {t.overloaded}
      </Notice>
    );
  }
  return <FormError error={error} fields={fields} />;
}
