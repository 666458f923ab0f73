// Shows how a call ended, with a word, an icon and a colour.
import { type Outcome, outcomes } from '../../api/usage.js';
import { outcomesText } from '../../i18n/outcomes.js';
import { useText } from '../../i18n/text.js';
import { Badge } from '../../ui/badge.js';
import { classNames } from '../../ui/class-names.js';

const looks: Record<Outcome, { tone: 'good' | 'info' | 'warn' | 'bad'; icon: 'ok' | 'paused' | 'stopped' | 'fault' | 'waiting' }> = {
  completed: { tone: 'good', icon: 'ok' },
  max_tokens: { tone: 'info', icon: 'paused' },
  client_disconnected: { tone: 'warn', icon: 'stopped' },
  rejected: { tone: 'bad', icon: 'stopped' },
  upstream_error_before_output: { tone: 'bad', icon: 'fault' },
  upstream_error_after_output: { tone: 'bad', icon: 'fault' },
  timeout: { tone: 'bad', icon: 'waiting' },
  gateway_error: { tone: 'bad', icon: 'fault' },
  gateway_lost: { tone: 'bad', icon: 'fault' },
};

const isOutcome = (text: string): text is Outcome => (outcomes as readonly string[]).includes(text);

/** Returns a function that names outcomes; an unknown outcome is shown as the API returns it. */
export function useOutcomeName(): (outcome: string) => string {
  const t = useText(outcomesText);
  return (outcome) => (isOutcome(outcome) ? t[`outcome_${outcome}`] : outcome);
}

const dots = { good: 'bg-good', info: 'bg-accent', warn: 'bg-warn', bad: 'bg-bad' } as const;

/** In a table: a coloured dot and a word. `brief`: for a narrow column; the title has the whole name. */
export function OutcomeDot({ outcome, brief = false }: { outcome: string; brief?: boolean }) {
  const t: Readonly<Record<string, string>> = useText(outcomesText);
  const name = useOutcomeName()(outcome);
  return (
    <span className="inline-flex max-w-full items-center gap-1.5" title={name}>
      <span
        aria-hidden
        className={classNames('swatch size-2 shrink-0 rounded-full', isOutcome(outcome) ? dots[looks[outcome].tone] : 'bg-soft')}
      />
      <span className="min-w-0 overflow-hidden text-ellipsis">{(brief && t[`brief_${outcome}`]) || name}</span>
    </span>
  );
}

/** `wraps`: the words may wrap if there is little room. */
export function OutcomeBadge({ outcome, wraps = false }: { outcome: string; wraps?: boolean }) {
  const name = useOutcomeName()(outcome);
  return (
    <Badge wraps={wraps} {...(isOutcome(outcome) ? looks[outcome] : {})}>
      {name}
    </Badge>
  );
}
