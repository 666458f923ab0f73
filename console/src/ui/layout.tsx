// Building blocks of pages.
import { type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { classNames } from './class-names.js';

/** Selects an open dialog. Toasts have the role of dialogs too, but are not modal. */
export const modalDialog = '[role=dialog]:not([aria-modal=false])';

/** The path of the page whose heading was reached last; undefined until the first page is shown. */
let reachedPath: string | undefined;
/** Whether the page was reached with Back or Forward; the browser then restores the scroll position. */
let isReturn = false;
addEventListener('popstate', () => (isReturn = true));
/** Whether the user has pressed a key or a button since the path changed: the focus is then theirs. */
let hasActed = false;
for (const event of ['keydown', 'pointerdown']) addEventListener(event, () => (hasActed = true), true);
// wouter dispatches pushState.
for (const event of ['pushState', 'popstate']) addEventListener(event, () => (hasActed = false));
/** A dialog that led to the page, such as the command palette, closes first. */
const attemptsMax = 10;
const attemptMs = 60;

/**
 * Moves the focus to the heading of a page that a link led to, as a browser does when it loads a page, so that the keyboard and screen readers
 * begin there. A sheet over the page has a path of its own but leaves the title, and so the focus, as it is.
 */
function useReachedHeading(title: string): React.RefObject<HTMLHeadingElement | null> {
  const [path] = useLocation();
  const heading = useRef<HTMLHeadingElement>(null);
  const shownTitle = useRef<string>(undefined);
  useEffect(() => {
    const isSame = shownTitle.current === title || reachedPath === path;
    const isFirst = reachedPath === undefined;
    shownTitle.current = title;
    if (isSame) return undefined;
    reachedPath = path;
    if (isFirst) return undefined;
    const before = document.activeElement;
    const preventScroll = isReturn;
    isReturn = false;
    let attempts = 0;
    const timer = setInterval(() => {
      const { activeElement: active } = document;
      attempts += 1;
      // If the page has focused an element of its content in the meantime, that element keeps the focus.
      const mayMove = !hasActed && (active === before || (active?.closest('main') ?? null) === null);
      if (mayMove && document.querySelector(modalDialog) === null) heading.current?.focus({ preventScroll });
      if (!mayMove || document.activeElement === heading.current || attempts === attemptsMax) clearInterval(timer);
    }, attemptMs);
    return () => clearInterval(timer);
  }, [path, title]);
  return heading;
}

/** A page's heading with its actions. Also sets the title of the browser tab. */
export function PageHeader({
  title,
  description,
  actions,
  back,
}: {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  /** Where the page was reached from, and its name. */
  back?: readonly [path: string, name: string] | undefined;
}) {
  useEffect(() => {
    document.title = `${title} · Tollgate`;
  }, [title]);
  const heading = useReachedHeading(title);
  return (
    <header className="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="min-w-0 flex-1 basis-72">
        {back !== undefined && (
          <div className="no-print mb-1 text-sm">
            <Link to={back[0]} className="link">
              {back[1]}
            </Link>
          </div>
        )}
        <h1 ref={heading} tabIndex={-1} className="scroll-mt-24 wrap-anywhere outline-none">
          {title}
        </h1>
        {description !== undefined && <p className="mt-1 max-w-2xl text-soft wrap-anywhere">{description}</p>}
      </div>
      {actions !== undefined && <div className="no-print flex flex-wrap gap-2">{actions}</div>}
    </header>
  );
}

/** A section of a page with its own heading. */
export function Section({
  title,
  description,
  actions,
  children,
  className,
}: {
  title?: string;
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={classNames('mb-8', className)}>
      {(title !== undefined || actions !== undefined) && (
        <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
          <div>
            {title !== undefined && <h2>{title}</h2>}
            {description !== undefined && <p className="text-sm text-soft">{description}</p>}
          </div>
          {actions !== undefined && <div className="no-print flex flex-wrap gap-2">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** A box with a border. */
export function Card({ children, className, flush = false }: { children: ReactNode; className?: string; flush?: boolean }) {
  return <div className={classNames('rounded-md border border-line bg-ground', !flush && 'p-4', className)}>{children}</div>;
}

/** A figure with its name. `hint` explains it. */
export function Stat({ label, value, hint }: { label: ReactNode; value: ReactNode; hint?: ReactNode }) {
  return (
    <Card flush className="min-w-min grow basis-36 p-3 sm:p-4">
      <dl>
        <dt className="text-sm text-soft">{label}</dt>
        <dd className="mt-1 text-xl font-semibold tabular wrap-anywhere">{value}</dd>
        {hint !== undefined && <dd className="mt-1 text-sm text-soft">{hint}</dd>}
      </dl>
    </Card>
  );
}

/** Figures side by side; two per row on a phone, unless one of them is too long. */
export function Stats({ children }: { children: ReactNode }) {
  return <div className="mb-6 flex flex-wrap gap-3 sm:grid sm:grid-cols-[repeat(auto-fit,minmax(11.5rem,1fr))]">{children}</div>;
}

/** Shown on a page without content: the reason and the next action. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Card className="px-6 py-10 text-center">
      <p className="font-semibold">{title}</p>
      {children !== undefined && <div className="mx-auto mt-1 max-w-xl text-soft">{children}</div>}
      {action !== undefined && <div className="mt-4 flex justify-center gap-2">{action}</div>}
    </Card>
  );
}

/** Names with their values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [ReactNode, ReactNode] | false)[] }) {
  return (
    <dl className="grid grid-cols-1 gap-x-6 sm:grid-cols-[max-content_minmax(0,1fr)] sm:gap-y-1.5">
      {facts.map(
        (fact, index) =>
          fact !== false && (
            <div key={index} className="mb-2 sm:contents">
              <dt className="text-soft">{fact[0]}</dt>
              <dd className="min-w-0 wrap-anywhere [&_button]:-my-1.5">{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
