// Buttons, and links that look like them.
import { Plus } from 'lucide-react';
import { type ComponentProps, type ReactNode, useRef } from 'react';
import { Link } from 'wouter';
import { classNames } from './class-names.js';

type Look = 'primary' | 'secondary' | 'ghost' | 'danger';

const looks: Record<Look, string> = {
  primary: 'bg-accent text-on-accent border-accent hover:bg-accent-hover hover:border-accent-hover',
  secondary: 'bg-ground text-text border-edge hover:bg-hover',
  ghost: 'bg-transparent text-text border-transparent hover:bg-hover',
  danger: 'bg-danger text-on-danger border-danger hover:opacity-90',
};

/** Returns the classes of a button, for elements of other libraries. */
export function buttonClass(look: Look = 'secondary', size: 'normal' | 'small' = 'normal'): string {
  return classNames(
    'inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none no-underline',
    size === 'small' ? 'min-h-8 px-2.5 text-sm' : 'min-h-10 px-3.5',
    'disabled:opacity-60 disabled:cursor-not-allowed aria-disabled:opacity-60',
    looks[look],
  );
}

interface Props {
  readonly look?: Look;
  readonly size?: 'normal' | 'small';
}

/** Longer than React Query takes to report that a mutation is pending, after which the button is busy. */
const holdMs = 10;

/** A button. While `busy`, it ignores clicks and shows that it is busy. A second click without a gap is ignored too. */
export function Button({
  look,
  size,
  busy = false,
  className,
  type = 'button',
  disabled,
  ...rest
}: ComponentProps<'button'> & Props & { busy?: boolean }) {
  const isHeld = useRef(false);
  return (
    <button
      type={type}
      onClickCapture={(event) => {
        if (isHeld.current) {
          event.preventDefault();
          event.stopPropagation();
          return;
        }
        isHeld.current = true;
        setTimeout(() => (isHeld.current = false), holdMs);
      }}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
      className={classNames(buttonClass(look, size), className)}
      {...rest}
    />
  );
}

/** The button that begins to create something. */
export function CreateButton({ children, ...rest }: ComponentProps<'button'>) {
  return (
    <Button look="primary" {...rest}>
      <Plus size={16} aria-hidden />
      {children}
    </Button>
  );
}

/** A link to a console page that looks like a button. */
export function ButtonLink({ look, size, to, className, children }: Props & { to: string; className?: string; children: ReactNode }) {
  return (
    <Link to={to} className={classNames(buttonClass(look, size), className)}>
      {children}
    </Link>
  );
}

/** A square button with an icon; `label` is its name. */
export function IconButton({ label, children, className, ...rest }: ComponentProps<'button'> & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classNames(
        'inline-flex size-10 items-center justify-center rounded-md border border-transparent text-text hover:bg-hover disabled:opacity-60',
        className,
      )}
      {...rest}
    >
      {children}
    </button>
  );
}
