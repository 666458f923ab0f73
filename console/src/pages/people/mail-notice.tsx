// What came of the mail with a link that is shown here too.
import type { MailStanding } from '../../api/people.js';
import { membersText } from '../../i18n/members.js';
import { useText } from '../../i18n/text.js';
import { Notice } from '../../ui/notice.js';

/** Nothing where no mail can be sent. */
export function MailNotice({ email, mail: { state, words } }: { email: string; mail: MailStanding }) {
  const t = useText(membersText);
  if (state === 'sent') return <Notice tone="good">{t.mailedTo({ email })}</Notice>;
  if (state === 'pending') return <Notice>{t.mailPending({ email })}</Notice>;
  if (state === 'failed') return <Notice tone="warn">{t.mailFailed({ words: words ?? '' })}</Notice>;
  return null;
}
