// Shows below the header that the server cannot be reached or that data could not be refreshed, and since when, and tries again by itself.
import { type Query, useQueryClient } from '@tanstack/react-query';
import { TriangleAlert } from 'lucide-react';
import { useEffect, useState } from 'react';
import { isUnreachable, mayPass } from '../api/client.js';
import { useTime } from '../format/time.js';
import { commonText } from '../i18n/common.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { useIsWaitingForFile } from '../session/server-file.js';
import { Button } from '../ui/button.js';

const checkMs = 1000;
/** How long a fetch may take before the data count as outdated. */
const patienceMs = 10_000;
const tryAgainMs = 2000;

interface Behind {
  readonly isUnreachable: boolean;
  /** When the oldest data on the page were fetched; undefined if the page shows none. */
  readonly sinceMs: number | undefined;
}

/** Returns which data on the page could not be fetched, or undefined if all of them could. */
function useBehind(): Behind | undefined {
  const client = useQueryClient();
  const isWaitingForFile = useIsWaitingForFile();
  const [known, setKnown] = useState<Behind>();
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
      setKnown(
        behind.length === 0
          ? undefined
          : {
              // A response that does not arrive is the same to the user.
              isUnreachable: behind.some(({ state }) => isUnreachable(state.error) || !mayPass(state.error)),
              sinceMs: shown.length === 0 ? undefined : Math.min(...shown),
            },
      );
      if (behind.length === 0) return;
      setNow(Date.now());
      if (Date.now() - triedMs < tryAgainMs) return;
      triedMs = Date.now();
      for (const query of behind) void query.fetch(undefined, { cancelRefetch: false }).catch(() => undefined);
    }, checkMs);
    return () => clearInterval(timer);
  }, [client]);
  return isWaitingForFile ? { isUnreachable: true, sinceMs: known?.sinceMs } : known;
}

export function NotFresh() {
  const t = useText(shellText);
  const common = useText(commonText);
  const time = useTime();
  const client = useQueryClient();
  const behind = useBehind();
  const isShown = behind !== undefined;
  return (
    <div className={isShown ? 'flex items-center gap-3 border-t border-line bg-warn-soft px-4 py-1.5 text-sm' : 'sr-only'}>
      {isShown && <TriangleAlert size={16} aria-hidden className="shrink-0" />}
      <div className="min-w-0 flex-1">
        {/* The time changes every second, so screen readers must not announce it. */}
        <p role="status" className="inline">
          {isShown && (behind.isUnreachable ? t.unreachable : t.notFresh)}
        </p>{' '}
        {behind?.sinceMs !== undefined && t.notFreshSince({ ago: time.relative(behind.sinceMs) })}
      </div>
      {isShown && (
        <Button size="small" onClick={() => void client.invalidateQueries()}>
          {common.retry}
        </Button>
      )}
    </div>
  );
}
