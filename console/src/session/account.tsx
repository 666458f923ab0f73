// The signed-in user, and the account of the page.
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import type { AccountOfMine, Me, Permission } from '../api/session.js';
import { fetchMe, meKey } from './queries.js';

const MeContext = createContext<Me | undefined>(undefined);
const AccountContext = createContext<AccountInUse | undefined>(undefined);

/** The account of the page's address. */
export interface AccountInUse extends AccountOfMine {
  /** Whether the user has the permission; with a project, whether they have it there. */
  can(permission: Permission, projectId?: string): boolean;
  /** The path of a page of this account, for example `path('/keys')`. */
  path(page: string): string;
}

/** Queries the signed-in user; null if there is none. */
export const useMeQuery = () => useQuery({ queryKey: meKey, queryFn: fetchMe, staleTime: 60_000 });

export function MeProvider({ me, children }: { me: Me; children: ReactNode }) {
  return <MeContext value={me}>{children}</MeContext>;
}

/** Returns the signed-in user. Only for pages that require sign-in. */
export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error('Nobody is signed in here.');
  return me;
}

export function AccountProvider({ account, children }: { account: AccountOfMine; children: ReactNode }) {
  const value = useMemo(() => inUse(account), [account]);
  return <AccountContext value={value}>{children}</AccountContext>;
}

/** The account of the page's address. Only on pages of an account. */
export function useAccount(): AccountInUse {
  const account = useContext(AccountContext);
  if (account === undefined) throw new Error('This page is about no account.');
  return account;
}

/** The same for pages that may have no account. */
export const useMaybeAccount = (): AccountInUse | undefined => useContext(AccountContext);

/** Whether the user is a member of the account of the page. Operators can open other accounts too, but may neither read prompts there nor have them logged. */
export function useIsMember(): boolean {
  const { id } = useAccount();
  return useMe().accounts.some((each) => each.id === id);
}

function inUse(account: AccountOfMine): AccountInUse {
  // Only keys are changed with a role in a project, and then the user may have no role that allows it in the account.
  const isLimited = ['member', 'viewer', 'billing'].includes(account.role);
  const can: AccountInUse['can'] = (permission, projectId) =>
    account.permissions.includes(permission) &&
    (projectId === undefined ||
      permission !== 'change keys' ||
      !isLimited ||
      account.projects.some((each) => each.project_id === projectId && each.role === 'developer'));
  return { ...account, can, path: (page) => accountPath(account.id, page) };
}

/** The path of a page of an account. */
export const accountPath = (accountId: string, page: string): string => `/accounts/${accountId}${page === '/' ? '' : page}`;

const rememberedName = 'tollgate.account';

/** Returns the account that was shown last, if the user still has access; otherwise the first. */
export function startAccount(me: Me): AccountOfMine | undefined {
  let remembered: string | null = null;
  try {
    remembered = localStorage.getItem(rememberedName);
  } catch {
    // Then the first.
  }
  return me.accounts.find(({ id }) => id === remembered) ?? me.accounts[0];
}

/** Remembers the account that is shown. */
export function rememberAccount(accountId: string): void {
  try {
    localStorage.setItem(rememberedName, accountId);
  } catch {
    // Failure is ignored, because this is only a convenience.
  }
}
