// The frame around every page of somebody who is signed in: navigation at the left, or below on narrow screens; the balance above.
import { Menu as MenuIcon } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { gatewayUrl } from '../base.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { useMaybeAccount, useMe } from '../session/account.js';
import { classNames } from '../ui/class-names.js';
import { Dialog } from '../ui/dialog.js';
import { Notice } from '../ui/notice.js';
import { AccountSwitcher } from './account-switcher.js';
import { BalancePill } from './balance-pill.js';
import { accountNavigation, commonNavigation, type NavigationItem, operatorNavigation } from './navigation.js';
import { LowBalance } from './low-balance.js';
import { Shortcuts } from './shortcuts.js';
import { UserMenu } from './user-menu.js';

/** On narrow screens so many pages stand in the bar below; the others are behind "More". */
const barSize = 4;

export function Frame({ children }: { children: ReactNode }) {
  const t = useText(shellText);
  const me = useMe();
  const account = useMaybeAccount();
  const [path] = useLocation();
  const [isMoreOpen, setMoreOpen] = useState(false);
  useEffect(() => setMoreOpen(false), [path]);
  const ofAccount = account === undefined ? [] : accountNavigation(account);
  const ofOperator = me.user.is_operator ? operatorNavigation : [];
  const all = [...ofAccount, ...commonNavigation, ...ofOperator];
  const inBar = (ofAccount.length > 0 ? ofAccount : all).slice(0, barSize);

  return (
    <div className="md:grid md:min-h-dvh md:grid-cols-[14rem_minmax(0,1fr)]">
      <a href="#content" className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-80 focus:rounded-md focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent" onClick={skipToContent}>
        {t.skip}
      </a>
      <nav aria-label={t.navigation} className="no-print hidden border-r border-line bg-panel md:block">
        <div className="sticky top-0 flex max-h-dvh flex-col gap-1 overflow-y-auto p-3">
          <a href={gatewayUrl + 'models'} className="mb-1 px-2.5 py-1.5 text-lg font-bold">
            Tollgate
          </a>
          <AccountSwitcher />
          <NavigationList items={ofAccount} />
          <hr className="my-1 border-line" />
          <NavigationList items={commonNavigation} />
          {ofOperator.length > 0 && (
            <>
              <p className="mt-3 px-2.5 text-sm font-semibold text-soft">{t.operatorNavigation}</p>
              <NavigationList items={ofOperator} />
            </>
          )}
        </div>
      </nav>
      <div className="flex min-w-0 flex-col">
        <header className="no-print sticky top-0 z-30 flex min-h-14 items-center gap-2 border-b border-line bg-ground px-4">
          <div className="min-w-0 flex-1 md:hidden">
            <AccountSwitcher />
          </div>
          <div className="hidden flex-1 md:block" />
          {account !== undefined && <BalancePill account={account} />}
          <UserMenu />
        </header>
        <main id="content" tabIndex={-1} className="mx-auto w-full max-w-6xl flex-1 p-4 pb-24 outline-none md:p-6">
          {account?.suspended === true && <Notice tone="bad">{t.suspended}</Notice>}
          {account !== undefined && <LowBalance account={account} />}
          {children}
        </main>
        <nav aria-label={t.navigation} className="no-print fixed inset-x-0 bottom-0 z-30 border-t border-line bg-panel md:hidden">
          <ul className="grid grid-cols-5">
            {inBar.map((item) => (
              <li key={item.to}>
                <NavigationLink item={item} inBar />
              </li>
            ))}
            <li>
              <button type="button" onClick={() => setMoreOpen(true)} className="flex min-h-14 w-full flex-col items-center justify-center gap-0.5 text-xs">
                <MenuIcon size={20} aria-hidden />
                {t.more}
              </button>
            </li>
          </ul>
        </nav>
        <Dialog open={isMoreOpen} onClose={() => setMoreOpen(false)} title={t.menu}>
          <NavigationList items={all} />
        </Dialog>
      </div>
      <Shortcuts items={all} />
    </div>
  );
}

// The base element would make an address with a fragment lead to another page.
function skipToContent(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function NavigationList({ items }: { items: readonly NavigationItem[] }) {
  return (
    <ul className="flex flex-col gap-0.5">
      {items.map((item) => (
        <li key={item.to}>
          <NavigationLink item={item} />
        </li>
      ))}
    </ul>
  );
}

function NavigationLink({ item, inBar = false }: { item: NavigationItem; inBar?: boolean }) {
  const t = useText(shellText);
  const [path] = useLocation();
  const isHere = path === item.to || (path.startsWith(`${item.to}/`) && item.text !== 'home' && !(item.text === 'usage' && path.includes('/usage/records')));
  const Icon = item.icon;
  const className = inBar
    ? classNames('flex min-h-14 flex-col items-center justify-center gap-0.5 text-center text-xs', isHere ? 'font-semibold text-accent' : 'text-text')
    : classNames('flex min-h-10 items-center gap-2.5 rounded-md px-2.5', isHere ? 'bg-accent-soft font-medium text-accent' : 'hover:bg-hover');
  const content = (
    <>
      <Icon size={inBar ? 20 : 17} aria-hidden className="shrink-0" />
      <span>{t[item.text] as string}</span>
    </>
  );
  if (item.outside === true) {
    return (
      <a href={item.to} className={className}>
        {content}
      </a>
    );
  }
  return (
    <Link to={item.to} className={className} aria-current={isHere ? 'page' : undefined}>
      {content}
    </Link>
  );
}
