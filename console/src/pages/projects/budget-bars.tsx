// Shows budgets: the spent, held and remaining amounts, and when they reset.
import type { Budget } from '../../api/projects.js';
import { shareOf, shortUsd, usdText } from '../../format/money.js';
import { useTime } from '../../format/time.js';
import { budgetsText } from '../../i18n/budgets.js';
import { useText } from '../../i18n/text.js';
import { Badge } from '../../ui/badge.js';
import { Bar } from '../../ui/values.js';

const names = { month: 'perMonth', week: 'perWeek', day: 'perDay', lifetime: 'perLifetime' } as const;
const inNames = { month: 'inMonth', week: 'inWeek', day: 'inDay', lifetime: 'inLifetime' } as const;

/** One bar per budget; `brief` for a table. */
export function BudgetBars({ budgets, brief = false }: { budgets: readonly Budget[]; brief?: boolean }) {
  const t = useText(budgetsText);
  if (budgets.length === 0) return <span className="text-soft">{t.none}</span>;
  return (
    <ul className={brief ? 'flex flex-col gap-1' : 'grid gap-4 sm:grid-cols-2'}>
      {budgets.map((budget) => (
        <li key={budget.id} className="flex min-w-0 flex-col gap-1">
          {brief ? <BudgetLine budget={budget} /> : <BudgetBar budget={budget} />}
        </li>
      ))}
    </ul>
  );
}

/** In a table: one line per budget; when it resets is in the title. */
function BudgetLine({ budget }: { budget: Budget }) {
  const t = useText(budgetsText);
  const time = useTime();
  const { limit_usd: limit, spent_usd: spent, held_usd: held, left_usd: left } = budget;
  const share = left === null ? 0 : 1 - shareOf(left, limit);
  return (
    <span
      className="flex flex-wrap items-center gap-x-2 md:flex-nowrap md:whitespace-nowrap"
      title={budget.resets_at === null ? undefined : t.resets({ when: time.minute(budget.resets_at) })}
    >
      {spent !== null && held !== null && (
        <Bar
          small
          share={share}
          label={t.share({ percent: Math.round(share * 100), spent: usdText(spent), held: usdText(held), limit: usdText(limit) })}
        />
      )}
      <span className="tabular">
        {spent === null ? '–' : shortUsd(spent)} / {usdText(limit)} <span className="text-soft">{t[inNames[budget.period]]}</span>
      </span>
      {budget.soft && <Badge tone="info">{t.soft}</Badge>}
    </span>
  );
}

function BudgetBar({ budget }: { budget: Budget }) {
  const t = useText(budgetsText);
  const time = useTime();
  const { limit_usd: limit, spent_usd: spent, held_usd: held, left_usd: left } = budget;
  const isKnown = spent !== null && held !== null && left !== null;
  // The ledger reports what is left; the bar shows the used part.
  const share = isKnown ? 1 - shareOf(left, limit) : 0;
  return (
    <>
      <span className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{t[names[budget.period]]}</span>
        {budget.soft && <Badge tone="info">{t.soft}</Badge>}
      </span>
      {isKnown ? (
        <>
          <Bar
            share={share}
            label={t.share({ percent: Math.round(share * 100), spent: usdText(spent), held: usdText(held), limit: usdText(limit) })}
          />
          <span
            className="text-sm"
            title={`${t.spent({ spent: usdText(spent), limit: usdText(limit) })} · ${t.left({ left: usdText(left) })}`}
          >
            {t.spent({ spent: shortUsd(spent), limit: usdText(limit) })}{' '}
            <span className="text-soft">
              {held !== '0' && `· ${t.held({ held: shortUsd(held) })} `}· {t.left({ left: shortUsd(left) })}
            </span>
          </span>
        </>
      ) : (
        <span className="text-sm">
          {usdText(limit)} <span className="text-soft">· {t.unknown}</span>
        </span>
      )}
      {budget.resets_at !== null && <span className="text-sm text-soft">{t.resets({ when: time.minute(budget.resets_at) })}</span>}
      <span className="text-sm text-soft">
        {[
          ...(budget.soft ? [] : [t.hard]),
          ...(budget.alert_at.length === 0 ? [] : [t.alertsAt({ percents: budget.alert_at.map((percent) => `${percent}%`).join(', ') })]),
        ].join(' · ')}
      </span>
    </>
  );
}
