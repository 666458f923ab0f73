// Shows a state with a word, a colour and an icon, never only with a colour.
import { Ban, CircleAlert, CircleCheck, CircleDashed, CirclePause, Clock, RefreshCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.js';

type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain';

const tones: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-accent-soft text-accent',
  plain: 'bg-panel text-soft',
};

const icons = {
  ok: CircleCheck,
  fault: CircleAlert,
  stopped: Ban,
  paused: CirclePause,
  waiting: Clock,
  changing: RefreshCw,
  open: CircleDashed,
};

export function Badge({
  tone = 'plain',
  icon,
  wraps = false,
  children,
}: {
  tone?: Tone;
  icon?: keyof typeof icons;
  wraps?: boolean;
  children: ReactNode;
}) {
  const Icon = icon === undefined ? undefined : icons[icon];
  return (
    <span
      className={classNames(
        'inline-flex items-center gap-1 px-2 py-0.5 text-[0.8125rem] font-medium',
        wraps ? 'rounded-md' : 'rounded-full whitespace-nowrap',
        tones[tone],
      )}
    >
      {Icon !== undefined && <Icon size={13} aria-hidden className="shrink-0" />}
      {children}
    </span>
  );
}
