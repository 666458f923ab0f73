// The pages for unknown addresses, for users without an account, and for users without permission.
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { ButtonLink } from '../ui/button.js';
import { Empty, PageHeader } from '../ui/layout.js';

export function NotFound() {
  const t = useText(shellText);
  return (
    <>
      <PageHeader title={t.notFound} />
      <Empty title={t.notFoundHint} action={<ButtonLink to="/">{t.toHome}</ButtonLink>} />
    </>
  );
}

export function NoAccount() {
  const t = useText(shellText);
  return (
    <>
      <PageHeader title={t.noAccount} />
      <Empty title={t.noAccountHint} />
    </>
  );
}

export function Forbidden() {
  const t = useText(shellText);
  return (
    <>
      <PageHeader title={t.forbidden} />
      <Empty title={t.forbiddenHint} action={<ButtonLink to="/">{t.toHome}</ButtonLink>} />
    </>
  );
}
