// Shows the account's current balance on each of its pages.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { getBalance } from '../api/balance.js';
import { nanoUsdOf, usdText } from '../format/money.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import type { AccountInUse } from '../session/account.js';
import { liveMs } from '../session/queries.js';
import { classNames } from '../ui/class-names.js';
import { Usd } from '../ui/values.js';

/** Returns the balance of an account, and keeps it up to date while the page is visible. */
export function useBalance(accountId: string) {
  return useQuery({ queryKey: ['balance', accountId], queryFn: ({ signal }) => getBalance(accountId, signal), refetchInterval: liveMs });
}

export function BalancePill({ account }: { account: AccountInUse }) {
  const t = useText(shellText);
  const { data } = useBalance(account.id);
  if (data === undefined) return null;
  const isEmpty = nanoUsdOf(data.available_usd) <= 0n;
  return (
    <Link
      to={account.path('/billing')}
      className={classNames(
        'flex min-h-10 min-w-0 flex-wrap items-center justify-end gap-x-2 rounded-md px-2.5 text-sm leading-tight hover:bg-hover',
        isEmpty && 'bg-bad-soft text-bad',
      )}
    >
      <span className="font-semibold">
        <Usd value={data.available_usd} />
      </span>
      <span className="hidden text-soft sm:inline">{t.available}</span>
      {nanoUsdOf(data.held_usd) > 0n && <span className="text-soft">· {t.held({ usd: usdText(data.held_usd) })}</span>}
    </Link>
  );
}
