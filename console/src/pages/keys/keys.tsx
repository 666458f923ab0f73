// The account's API keys.
import { shellText } from '../../i18n/shell.js';
import { useText } from '../../i18n/text.js';
import { PageHeader } from '../../ui/layout.js';

export default function Keys() {
  const t = useText(shellText);
  return <PageHeader title={t.keys} />;
}
