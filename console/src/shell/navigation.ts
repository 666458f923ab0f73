// The pages in the navigation.
import {
  Activity,
  BookOpen,
  Building2,
  ChartColumn,
  FolderKanban,
  Gauge,
  House,
  KeyRound,
  ListTree,
  Plug,
  ScrollText,
  Settings,
  Tags,
  Ticket,
  UserCog,
  Users,
  Wallet,
  Waypoints,
  Webhook,
  MessageSquareText,
  type LucideIcon,
} from 'lucide-react';
import { gatewayUrl } from '../base.js';
import { shellText } from '../i18n/shell.js';
import type { AccountInUse } from '../session/account.js';

/** An item of the navigation. */
export interface NavigationItem {
  readonly text: keyof typeof shellText.en;
  readonly to: string;
  readonly icon: LucideIcon;
  /** The item links to a page of the gateway outside of the console. */
  readonly outside?: boolean;
  /** On narrow screens the item is in the bottom bar; the others are under "More". */
  readonly inBar?: boolean;
  /** A shorter text for the bottom bar. */
  readonly short?: keyof typeof shellText.en;
  /** The key after `g` that opens the page. */
  readonly shortcut?: string;
}

/** Returns the pages of an account, grouped by topic. */
export function accountNavigation(account: AccountInUse): NavigationItem[] {
  const mayLook = account.can('look');
  return [
    { text: 'home', to: account.path('/'), icon: House, inBar: true, shortcut: 'h' },
    { text: 'keys', to: account.path('/keys'), icon: KeyRound, inBar: true, shortcut: 'k' },
    { text: 'projects', to: account.path('/projects'), icon: FolderKanban, shortcut: 'j' },
    { text: 'usage', to: account.path('/usage'), icon: ChartColumn, inBar: true, shortcut: 'u' },
    { text: 'records', to: account.path('/usage/records'), icon: ListTree, shortcut: 'r' },
    ...(mayLook
      ? [{ text: 'billing', short: 'billingShort', to: account.path('/billing'), icon: Wallet, inBar: true, shortcut: 'b' } as const]
      : []),
    { text: 'playground', to: account.path('/playground'), icon: MessageSquareText, shortcut: 'p' },
    ...(mayLook ? [{ text: 'webhooks', to: account.path('/webhooks'), icon: Webhook } as const] : []),
    ...(mayLook ? [{ text: 'members', to: account.path('/members'), icon: Users } as const] : []),
    ...(account.can('change members') ? [{ text: 'audit', to: account.path('/audit'), icon: ScrollText } as const] : []),
  ];
}

/** The operator's pages. */
export const operatorNavigation: readonly NavigationItem[] = [
  { text: 'accounts', to: '/operator/accounts', icon: Building2, shortcut: 'o' },
  { text: 'users', to: '/operator/users', icon: UserCog },
  { text: 'callers', to: '/operator/callers', icon: Waypoints },
  { text: 'prices', to: '/operator/models', icon: Tags },
  { text: 'upstreams', to: '/operator/upstreams', icon: Plug },
  { text: 'codes', to: '/operator/codes', icon: Ticket },
  { text: 'audit', to: '/operator/audit', icon: ScrollText },
  { text: 'health', to: '/operator/health', icon: Gauge },
];

/** The pages for every user. */
export const commonNavigation: readonly NavigationItem[] = [
  { text: 'models', to: `${gatewayUrl}models`, icon: Activity, outside: true, shortcut: 'm' },
  { text: 'docs', to: `${gatewayUrl}docs`, icon: BookOpen, outside: true, shortcut: 'd' },
  { text: 'settings', to: '/settings', icon: Settings, shortcut: 's' },
];
