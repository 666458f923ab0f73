// Shows the current account and switches to another.
import { useLocation } from 'wouter';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { accountPath, useMaybeAccount, useMe } from '../session/account.js';

export function AccountSwitcher() {
  const t = useText(shellText);
  const { accounts, second_factor_accounts: closed } = useMe();
  const account = useMaybeAccount();
  const [, go] = useLocation();
  const isOwn = accounts.some(({ id }) => id === account?.id);
  if (closed.length === 0 && (accounts.length === 0 || (accounts.length === 1 && isOwn)))
    return <p className="shrink-0 truncate px-2.5 py-2 font-medium">{account?.name ?? ''}</p>;
  return (
    <select
      aria-label={t.switchAccount}
      className="control shrink-0 truncate font-medium"
      value={account?.id ?? ''}
      onChange={(event) => go(accountPath(event.target.value, '/'))}
    >
      {/* Operators can open accounts that they are not a member of. */}
      {!isOwn && <option value={account?.id ?? ''}>{account?.name ?? t.account}</option>}
      {accounts.map((each) => (
        <option key={each.id} value={each.id}>
          {each.name}
        </option>
      ))}
      {closed.map((each) => (
        <option key={each.id} value={each.id}>
          {t.needsSecondFactor({ name: each.name })}
        </option>
      ))}
    </select>
  );
}
