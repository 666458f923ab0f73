// Which account the pages are about, and the way to another.
import { ChevronsUpDown } from 'lucide-react';
import { useLocation } from 'wouter';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { accountPath, useMaybeAccount, useMe } from '../session/account.js';
import { ActionMenu } from '../ui/menu.js';

export function AccountSwitcher() {
  const t = useText(shellText);
  const { accounts } = useMe();
  const account = useMaybeAccount();
  const [, go] = useLocation();
  const name = account?.name ?? t.account;
  if (accounts.length < 2 && account !== undefined && accounts[0]?.id === account.id) return <p className="shrink-0 truncate px-2.5 py-2 font-medium">{name}</p>;
  if (accounts.length === 0) return <p className="shrink-0 truncate px-2.5 py-2 font-medium">{account === undefined ? '' : name}</p>;
  return (
    <ActionMenu
      label={`${t.switchAccount}: ${name}`}
      trigger={
        <>
          <span className="truncate">{name}</span>
          <ChevronsUpDown size={15} aria-hidden className="shrink-0 text-soft" />
        </>
      }
      triggerClassName="flex min-h-10 shrink-0 w-full max-w-full items-center justify-between gap-2 rounded-md border border-line bg-ground px-2.5 font-medium hover:bg-hover"
      actions={accounts.map((each) => ({ label: each.name, onSelect: () => go(accountPath(each.id, '/')) }))}
    />
  );
}
