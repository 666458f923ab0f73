// How keys are shown in the list and on their pages: state, models, spending.
import { type ApiKey, type KeyState } from '../../api/keys.js';
import { nanoUsdOf, shareOf, usdText } from '../../format/money.js';
import { useTime } from '../../format/time.js';
import { keysText } from '../../i18n/keys.js';
import { useText } from '../../i18n/text.js';
import { Badge } from '../../ui/badge.js';
import { Bar, Usd } from '../../ui/values.js';

const looks: Readonly<Record<KeyState, Pick<Parameters<typeof Badge>[0], 'tone' | 'icon'>>> = {
  active: { tone: 'good', icon: 'ok' },
  rotating: { tone: 'info', icon: 'changing' },
  limit_reached: { tone: 'bad', icon: 'fault' },
  expired: { tone: 'warn', icon: 'waiting' },
  disabled: { tone: 'plain', icon: 'paused' },
  suspended: { tone: 'bad', icon: 'stopped' },
  revoked: { tone: 'plain', icon: 'stopped' },
};

/** How a key stands, in a word with an icon. */
export function KeyStateBadge({ state }: { state: KeyState }) {
  const t = useText(keysText);
  return <Badge {...looks[state]}>{t[state]}</Badge>;
}

/** What the state means for calls, and since or until when. */
export function useStateMeaning(): (apiKey: ApiKey) => string {
  const t = useText(keysText);
  const time = useTime();
  return (apiKey) => {
    const when = { rotating: apiKey.former_secrets_until, expired: apiKey.expires_at, revoked: apiKey.revoked_at };
    switch (apiKey.state) {
      case 'rotating':
      case 'expired':
      case 'revoked':
        return t[`${apiKey.state}Means`]({ when: time.relative(when[apiKey.state]!) });
      default:
        return t[`${apiKey.state}Means`];
    }
  };
}

const chipsMax = 3;

/** The models that a key may call. */
export function ModelChips({ models, all = false }: { models: readonly string[] | null; all?: boolean }) {
  const t = useText(keysText);
  if (models === null) return <span className="text-soft">{t.allModels}</span>;
  const shown = all ? models : models.slice(0, chipsMax);
  return (
    <span className="inline-flex max-w-full flex-wrap gap-1">
      {shown.map((model) => (
        <code key={model} className="rounded border border-line bg-panel px-1.5 wrap-anywhere">
          {model}
        </code>
      ))}
      {models.length > shown.length && <span className="text-soft">{t.moreModels({ count: models.length - shown.length })}</span>}
    </span>
  );
}

/** What a key has spent, and how much of its limit that and what is held make. */
export function Spend({ apiKey }: { apiKey: ApiKey }) {
  const t = useText(keysText);
  const { spent_usd: spent, held_usd: held, limit_usd: limit, remaining_usd: remaining } = apiKey;
  const isHeld = nanoUsdOf(held) > 0n;
  return (
    <span className="inline-flex min-w-36 max-w-60 flex-col gap-1 align-top">
      <span>
        <Usd value={spent} /> {isHeld && <span className="text-soft">{t.heldMore({ held: usdText(held) })} </span>}
        <span className="text-soft">{limit === null ? `· ${t.spendNoLimit}` : `/ ${usdText(limit)}`}</span>
      </span>
      {limit !== null && remaining !== null && <LimitBar {...{ spent, held, limit, remaining }} />}
    </span>
  );
}

/** How much of a limit is gone. */
export function LimitBar({ spent, held, limit, remaining }: { spent: string; held: string; limit: string; remaining: string }) {
  const t = useText(keysText);
  // The ledger says what remains; the bar is the other part.
  const share = 1 - shareOf(remaining, limit);
  return (
    <Bar
      share={share}
      label={t.spendShare({ percent: Math.round(share * 100), spent: usdText(spent), held: usdText(held), limit: usdText(limit) })}
    />
  );
}
