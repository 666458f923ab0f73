// The state of the mail with a link that is also shown here.
import type { MailStanding } from '../../../api/users.js';
import { useFindingText } from '../../../i18n/finding-text.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import { Notice } from '../../../ui/notice.js';

/** Renders nothing if mail is not configured. */
export function MailNotice({ email, mail: { state, words } }: { email: string; mail: MailStanding }) {
  const t = useText(membersText);
  const found = useFindingText();
  if (state === 'sent') return <Notice tone="good">{t.mailedTo({ email })}</Notice>;
  if (state === 'pending' && words !== null) return <Notice tone="warn">{t.mailRetried({ words: found(words) })}</Notice>;
  if (state === 'pending') return <Notice>{t.mailPending({ email })}</Notice>;
  if (state === 'failed') return <Notice tone="warn">{t.mailFailed({ words: found(words ?? '') })}</Notice>;
  return null;
}
