// Links to the pages, with the current one marked.
import { Link, useLocation } from 'wouter';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { classNames } from '../ui/class-names.js';
import type { NavigationItem } from './navigation.js';

export function NavigationList({ items }: { items: readonly NavigationItem[] }) {
  return (
    <ul className="flex flex-col gap-px">
      {items.map((item) => (
        <li key={item.to}>
          <NavigationLink item={item} />
        </li>
      ))}
    </ul>
  );
}

/** A link to a page. `inBar`: in the bar at the bottom of narrow screens. */
export function NavigationLink({ item, inBar = false }: { item: NavigationItem; inBar?: boolean }) {
  const t = useText(shellText);
  const [path] = useLocation();
  const isHere =
    path === item.to ||
    (path.startsWith(`${item.to}/`) && item.text !== 'home' && !(item.text === 'usage' && path.includes('/usage/records')));
  const Icon = item.icon;
  const className = inBar
    ? classNames(
        'flex min-h-14 flex-col items-center justify-center gap-0.5 text-center text-xs',
        isHere ? 'font-semibold text-accent' : 'text-text',
      )
    : classNames(
        // All pages of an operator fit a window of 800 px; fingers need more room.
        'flex min-h-7 items-center gap-2.5 rounded-md px-2.5 text-sm pointer-coarse:min-h-10',
        isHere ? 'bg-accent-soft font-medium text-accent' : 'hover:bg-hover',
      );
  const content = (
    <>
      <Icon size={inBar ? 20 : 17} aria-hidden className="shrink-0" />
      <span>{t[inBar ? (item.short ?? item.text) : item.text] as string}</span>
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
