// The page for unknown addresses.
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { ButtonLink } from '../ui/button.js';
import { Empty, PageHeader } from '../ui/layout.js';

export function NotFound() {
  const t = useText(shellText);
  return (
    <>
      <PageHeader title={t.notFound} />
      <Empty title={t.notFound} action={<ButtonLink to="/">{t.toHome}</ButtonLink>}>
        {t.notFoundHint}
      </Empty>
    </>
  );
}

export function NoAccount() {
  const t = useText(shellText);
  return (
    <>
      <PageHeader title={t.noAccount} />
      <Empty title={t.noAccount}>{t.noAccountHint}</Empty>
    </>
  );
}
