// The balance, how long it lasts, and recent spending.
import { useQuery } from '@tanstack/react-query';
import { getTotals } from '../../api/usage.js';
import { startOfDayAgo } from '../../format/calendar.js';
import { nanoUsdOf, usdText } from '../../format/money.js';
import { useNumber } from '../../format/number.js';
import { useOffsetAt, useZone, zoneName } from '../../format/time.js';
import { homeText } from '../../i18n/home.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { useBalance } from '../../shell/balance-pill.js';
import { Stat, Stats } from '../../ui/layout.js';
import { ErrorNotice } from '../../ui/notice.js';
import { faultOf } from '../../ui/query.js';
import { Usd } from '../../ui/values.js';
import { runwayDays } from './runway.js';

const sumsMs = 10_000;

/** What the account has spent since the start of the day this many days ago. */
function useSpent(daysBack: number) {
  const account = useAccount();
  const from = new Date(startOfDayAgo(daysBack, Date.now(), useOffsetAt())).toISOString();
  return useQuery({
    queryKey: ['usage', account.id, 'total', from],
    queryFn: ({ signal }) => getTotals(account.id, { from }, signal),
    refetchInterval: sumsMs,
  });
}

export function Money() {
  const account = useAccount();
  const t = useText(homeText);
  const zone = useZone();
  const count = useNumber();
  const balance = useBalance(account.id);
  const sums = [useSpent(0), useSpent(6), useSpent(29)] as const;
  const error = [balance, ...sums].map(faultOf).find((fault) => fault !== null);
  const spent = sums.map(({ data }) => data?.data[0]);
  // Today is not over, so the last seven days are shorter than that.
  const weekMs = Date.now() - startOfDayAgo(6, Date.now(), useOffsetAt());
  const days =
    balance.data === undefined || spent[1] === undefined ? undefined : runwayDays(balance.data.available_usd, spent[1].charge_usd, weekMs);
  const isHeld = balance.data !== undefined && nanoUsdOf(balance.data.held_usd) > 0n;

  function runway(): string {
    if (days === undefined) return '…';
    if (balance.data !== undefined && nanoUsdOf(balance.data.available_usd) <= 0n) return t.runwayEmpty;
    if (days === null) return '–';
    if (days > 365) return t.runwayOverAYear;
    return days < 1 ? t.runwayUnderADay : t.runwayDays({ days });
  }

  return (
    <>
      {error !== undefined && (
        <ErrorNotice error={error} onRetry={() => void Promise.all([balance.refetch(), ...sums.map((sum) => sum.refetch())])} />
      )}
      <Stats>
        <Stat
          label={t.available}
          value={balance.data === undefined ? '…' : <Usd value={balance.data.available_usd} />}
          hint={isHeld ? t.held({ usd: usdText(balance.data!.held_usd) }) : t.heldNone}
        />
        <Stat label={t.runway} value={runway()} hint={days === null ? t.runwayNoPace : t.runwayHint} />
        {[t.today, t.week, t.month].map((label, index) => (
          <Stat
            key={label}
            label={label}
            value={spent[index] === undefined ? '…' : <Usd value={spent[index].charge_usd} />}
            hint={`${t.callsOf({ calls: count(spent[index]?.calls ?? 0) })} · ${t.daysOf({ zone: zoneName(zone) })}`}
          />
        ))}
      </Stats>
    </>
  );
}
