// The state, models and spend of keys, as shown in the list and on their pages.
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

/** The state of a key, as a word with an icon. */
export function KeyStateBadge({ state }: { state: KeyState }) {
  const t = useText(keysText);
  return <Badge {...looks[state]}>{t[state]}</Badge>;
}

/** Explains what the state means for calls, and since or until when. */
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

/** Shows, in a line of a table, the first model that a key may call, and how many more there are. */
export function ModelsInBrief({ models }: { models: readonly string[] | null }) {
  const t = useText(keysText);
  if (models === null) return <span className="text-soft">{t.allModels}</span>;
  return (
    <span title={models.join('\n')}>
      {models[0]}
      {models.length > 1 && <span className="text-soft"> +{models.length - 1}</span>}
    </span>
  );
}

/** The amount that a key has spent, with the decimals of its column, and the held amount. */
export function Spend({ apiKey: { spent_usd: spent, held_usd: held }, digits }: { apiKey: ApiKey; digits: number }) {
  const t = useText(keysText);
  return (
    <>
      <Usd value={spent} digits={digits} />
      {nanoUsdOf(held) > 0n && <span className="text-soft"> {t.heldMore({ held: usdText(held) })}</span>}
    </>
  );
}

/** The limit of a key, and how much of it is used. */
export function LimitInBrief({ apiKey }: { apiKey: ApiKey }) {
  const t = useText(keysText);
  const { spent_usd: spent, held_usd: held, limit_usd: limit, remaining_usd: remaining } = apiKey;
  if (limit === null) return <span className="text-soft">{t.noLimit}</span>;
  return (
    <span className="inline-flex items-center gap-2">
      {remaining !== null && <LimitBar {...{ spent, held, limit, remaining }} small />}
      {usdText(limit)}
    </span>
  );
}

/** The used share of a limit. */
export function LimitBar({
  spent,
  held,
  limit,
  remaining,
  small = false,
}: {
  spent: string;
  held: string;
  limit: string;
  remaining: string;
  small?: boolean;
}) {
  const t = useText(keysText);
  // The ledger reports what remains; the bar shows the used part.
  const share = 1 - shareOf(remaining, limit);
  return (
    <Bar
      share={share}
      small={small}
      label={t.spendShare({ percent: Math.round(share * 100), spent: usdText(spent), held: usdText(held), limit: usdText(limit) })}
    />
  );
}
