// Shows recently refused calls: with which keys, and why.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { getRefusalTotals } from '../../api/refusals.js';
import { useNumber } from '../../format/number.js';
import { refusingText } from '../../i18n/refusing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { ButtonLink } from '../../ui/button.js';
import { Notice } from '../../ui/notice.js';
import { KeyLink } from '../billing/parts.js';
import { useReasonName } from '../refusals/reasons.js';

const hours = 24;
const shown = 4;
const hourMs = 3_600_000;
const refreshMs = 10_000;

export function Refused() {
  const t = useText(refusingText);
  const account = useAccount();
  const count = useNumber();
  const reasonName = useReasonName();
  const { data } = useQuery({
    queryKey: ['refusals', account.id, 'home'],
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - hours * hourMs).toISOString();
      return getRefusalTotals(account.id, { from, group_by: 'key', then_by: 'reason' }, signal);
    },
    refetchInterval: refreshMs,
  });
  const groups = data?.data ?? [];
  if (groups.length === 0) return null;
  const calls = groups.reduce((sum, each) => sum + each.calls, 0);
  return (
    <Notice
      tone="warn"
      title={t.onHome({ calls: count(calls), hours })}
      action={<ButtonLink to={account.path('/usage/refusals?range=24h')}>{t.seeRefused}</ButtonLink>}
    >
      <ul className="mt-1">
        {groups.slice(0, shown).map(({ name, then_name: reason, calls: refused }) => (
          <li key={`${name} ${reason}`}>
            <KeyLink keyId={name ?? ''} />:{' '}
            <Link to={account.path(`/usage/refusals?range=24h&key=${name}&reason=${reason}`)} className="link">
              {t.onHomeLine({ calls: count(refused), why: reasonName(reason ?? '') })}
            </Link>
          </li>
        ))}
        {groups.length > shown && <li className="text-soft">{t.more({ count: groups.length - shown })}</li>}
      </ul>
    </Notice>
  );
}
