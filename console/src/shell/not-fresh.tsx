// Shows below the header that the page's data could not be refreshed, and since when, and refreshes them as soon as possible.
import { type Query, useQueryClient } from '@tanstack/react-query';
import { TriangleAlert } from 'lucide-react';
import { useEffect, useState } from 'react';
import { mayPass } from '../api/client.js';
import { useTime } from '../format/time.js';
import { commonText } from '../i18n/common.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { Button } from '../ui/button.js';

const checkMs = 1000;
/** How long a fetch may take before the data count as outdated. */
const patienceMs = 10_000;
const tryAgainMs = 5000;

/** Returns since when the oldest data on the page could not be refreshed, or undefined if all of them can. */
function useBehind(): number | undefined {
  const client = useQueryClient();
  const [since, setSince] = useState<number>();
  const [, setNow] = useState(0);
  useEffect(() => {
    const begun = new Map<string, number>();
    let triedMs = 0;
    // Failed fetches are retried, even on pages that do not poll.
    const isBehind = (query: Query): boolean => {
      const { state, queryHash } = query;
      if (state.fetchStatus !== 'fetching') begun.delete(queryHash);
      else if ((begun.get(queryHash) ?? 0) <= Math.max(state.dataUpdatedAt, state.errorUpdatedAt)) begun.set(queryHash, Date.now());
      return mayPass(state.error) || Date.now() - (begun.get(queryHash) ?? Infinity) > patienceMs;
    };
    const timer = setInterval(() => {
      const behind = client.getQueryCache().findAll({ type: 'active', predicate: isBehind });
      const shown = behind.map(({ state }) => state.dataUpdatedAt).filter((ms) => ms > 0);
      setSince(shown.length === 0 ? undefined : Math.min(...shown));
      if (behind.length === 0) return;
      setNow(Date.now());
      if (Date.now() - triedMs < tryAgainMs) return;
      triedMs = Date.now();
      for (const query of behind) void query.fetch(undefined, { cancelRefetch: false }).catch(() => undefined);
    }, checkMs);
    return () => clearInterval(timer);
  }, [client]);
  return since;
}

export function NotFresh() {
  const t = useText(shellText);
  const common = useText(commonText);
  const time = useTime();
  const client = useQueryClient();
  const since = useBehind();
  const isShown = since !== undefined;
  return (
    <div className={isShown ? 'flex items-center gap-3 border-t border-line bg-warn-soft px-4 py-1.5 text-sm' : 'sr-only'}>
      {isShown && <TriangleAlert size={16} aria-hidden className="shrink-0" />}
      <div className="min-w-0 flex-1">
        {/* The time goes on, and is not read aloud every second. */}
        <p role="status" className="inline">
          {isShown && t.notFresh}
        </p>{' '}
        {isShown && t.notFreshSince({ ago: time.relative(since) })}
      </div>
      {isShown && (
        <Button size="small" onClick={() => void client.invalidateQueries()}>
          {common.retry}
        </Button>
      )}
    </div>
  );
}
