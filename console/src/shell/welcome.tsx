// Asks a user who signed in with a link to set a password.
import { useSearch } from 'wouter';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { useMe } from '../session/account.js';
import { ButtonLink } from '../ui/button.js';
import { Notice } from '../ui/notice.js';

export function Welcome() {
  const t = useText(shellText);
  const { user } = useMe();
  if (!new URLSearchParams(useSearch()).has('welcome') || user.has_password) return null;
  return (
    <Notice
      title={t.welcome}
      action={
        <ButtonLink to="/settings/security" size="small">
          {t.setPassword}
        </ButtonLink>
      }
    >
      {t.welcomeHint}
    </Notice>
  );
}
