// Shows a banner on every page of an account while its balance is low.
import { Link } from 'wouter';
import { usdText } from '../format/money.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import type { AccountInUse } from '../session/account.js';
import { Notice } from '../ui/notice.js';
import { useBalance } from './balance-pill.js';

export function LowBalance({ account }: { account: AccountInUse }) {
  const t = useText(shellText);
  const { data } = useBalance(account.id);
  if (data?.low !== true) return null;
  return (
    <Notice
      tone="warn"
      live
      action={
        <Link to={account.path('/billing')} className="link">
          {t.lowBalanceAction}
        </Link>
      }
    >
      {t.lowBalance({ settled: usdText(data.settled_usd), threshold: usdText(data.threshold_usd ?? '0') })}
    </Notice>
  );
}
