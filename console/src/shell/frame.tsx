// The frame around every page of a signed-in user: navigation on the left, or at the bottom of narrow screens; the balance at the top.
import { CircleUser, Menu as MenuIcon, Search } from 'lucide-react';
import { lazy, type ReactNode, useCallback, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { useMaybeAccount, useMe } from '../session/account.js';
import { serverFile } from '../session/server-file.js';
import { IconButton } from '../ui/button.js';
import { LazyDialog } from '../ui/lazy-dialog.js';
import { Notice } from '../ui/notice.js';
import { AccountSwitcher } from './account-switcher.js';
import { BalancePill } from './balance-pill.js';
import { FaultBoundary } from './fault-boundary.js';
import type { FrameDialog } from './frame-dialogs.js';
import { LowBalance } from './low-balance.js';
import { accountNavigation, commonNavigation, operatorNavigation } from './navigation.js';
import { NavigationLink, NavigationList } from './navigation-list.js';
import { NotFresh } from './not-fresh.js';
import { paletteKeys, useShortcuts } from './shortcuts.js';
import { contentId, SkipLink } from './skip-link.js';
import { Welcome } from './welcome.js';

const FrameDialogs = lazy(() => serverFile(() => import('./frame-dialogs.js')));

/** The number of pages in the bottom bar of a user without an account. */
const barSize = 4;

export function Frame({ children }: { children: ReactNode }) {
  const t = useText(shellText);
  const me = useMe();
  const account = useMaybeAccount();
  const [path] = useLocation();
  const showsBalance = account?.can('look') === true;
  const [open, setOpen] = useState<FrameDialog>();
  const [isWanted, setWanted] = useState(false);
  const show = useCallback((dialog: FrameDialog) => {
    setWanted(true);
    setOpen(dialog);
  }, []);
  useEffect(() => setOpen(undefined), [path]);
  const ofAccount = account === undefined ? [] : accountNavigation(account);
  const ofOperator = me.user.is_operator ? operatorNavigation : [];
  const all = [...ofAccount, ...commonNavigation, ...ofOperator];
  useShortcuts(all, show);
  const inBar = ofAccount.length > 0 ? ofAccount.filter((item) => item.inBar === true) : all.slice(0, barSize);

  return (
    <div className="md:grid md:min-h-dvh md:grid-cols-[14rem_minmax(0,1fr)]">
      <SkipLink />
      <nav aria-label={t.navigation} className="no-print hidden border-r border-line bg-panel md:block">
        <div className="sticky top-0 flex max-h-dvh flex-col gap-0.5 overflow-y-auto p-3">
          {/* No link: Home and Models are the next ones. */}
          <p className="mb-1 px-2.5 py-1.5 text-lg font-bold">Tollgate</p>
          <AccountSwitcher />
          <NavigationList items={ofAccount} />
          <hr className="my-1 border-line" />
          <NavigationList items={commonNavigation} />
          {ofOperator.length > 0 && (
            <>
              <p className="mt-1.5 px-2.5 text-sm font-semibold text-soft">{t.operatorNavigation}</p>
              <NavigationList items={ofOperator} />
            </>
          )}
        </div>
      </nav>
      <div className="flex min-w-0 flex-col">
        <header className="no-print sticky top-0 z-30 border-b border-line bg-ground">
          <div className="flex min-h-14 items-center gap-2 px-4">
            <div className="min-w-0 flex-1 md:hidden">
              <AccountSwitcher />
            </div>
            <div className="hidden flex-1 md:block">
              <button
                type="button"
                onClick={() => show('palette')}
                className="flex min-h-10 w-full max-w-xs items-center gap-2 rounded-md border border-line px-3 text-soft hover:bg-hover"
              >
                <Search size={16} aria-hidden />
                <span className="flex-1 text-left">{t.goTo}</span>
                <kbd aria-hidden>{paletteKeys}</kbd>
              </button>
            </div>
            {showsBalance && <BalancePill account={account} />}
            <IconButton label={t.settings} onClick={() => show('user')}>
              <CircleUser size={20} aria-hidden />
            </IconButton>
          </div>
          <NotFresh />
        </header>
        <main id={contentId} tabIndex={-1} className="mx-auto w-full max-w-6xl flex-1 p-4 pb-24 outline-none md:p-6">
          {account?.suspended === true && <Notice tone="bad">{t.suspended}</Notice>}
          {showsBalance && <LowBalance account={account} />}
          <Welcome />
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
              <button
                type="button"
                onClick={() => show('more')}
                className="flex min-h-14 w-full flex-col items-center justify-center gap-0.5 text-xs"
              >
                <MenuIcon size={20} aria-hidden />
                {t.more}
              </button>
            </li>
          </ul>
        </nav>
      </div>
      {isWanted && (
        <FaultBoundary resetKey={`${path} ${open ?? ''}`}>
          <LazyDialog open={open !== undefined} onClose={() => setOpen(undefined)}>
            <FrameDialogs open={open} onClose={() => setOpen(undefined)} onSearch={() => show('palette')} items={all} />
          </LazyDialog>
        </FaultBoundary>
      )}
    </div>
  );
}
