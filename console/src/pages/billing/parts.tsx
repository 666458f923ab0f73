// Components that the billing pages share: months, changes of the balance, pages of a list, links to keys.
import { type InfiniteData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'wouter';
import type { Page } from '../../api/client.js';
import { nanoUsdOf } from '../../format/money.js';
import { commonText } from '../../i18n/common.js';
import { useLanguage, useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button } from '../../ui/button.js';
import { Loading } from '../../ui/notice.js';
import { QueryFault } from '../../ui/query.js';
import { ShortId } from '../../ui/short-id.js';
import { Usd } from '../../ui/values.js';
import { useKeyNames } from '../keys/key-names.js';

/** The beginning of the query keys of an account's billing. */
export const billingKey = (accountId: string, ...rest: readonly (string | null)[]): QueryKey => ['billing', accountId, ...rest];

/** Returns a month such as `2026-11` in words. Months are in UTC. */
export function useMonth(): (month: string) => string {
  const format = new Intl.DateTimeFormat(useLanguage(), { year: 'numeric', month: 'long', timeZone: 'UTC' });
  return (month) => format.format(new Date(`${month}-01T00:00:00Z`));
}

/** The change of the balance by an entry, with its sign. */
export function Effect({ value, digits }: { value: string; digits?: number }) {
  return (
    <span className="whitespace-nowrap">
      {nanoUsdOf(value) > 0n && '+'}
      <Usd value={value} digits={digits} />
    </span>
  );
}

/** Renders again every second, for relative times. */
export function useSeconds(): void {
  const [, look] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => look((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, []);
}

/** A paginated list with a button for more; `children` renders what has been loaded. */
export function Listed<P extends Page<unknown>>({
  queryKey,
  fetch,
  refetchInterval,
  children,
}: {
  queryKey: QueryKey;
  fetch: (cursor: string | null, signal: AbortSignal) => Promise<P>;
  refetchInterval?: number;
  children: (pages: readonly P[]) => ReactNode;
}) {
  const t = useText(commonText);
  const query = useInfiniteQuery<P, Error, InfiniteData<P, string | null>, QueryKey, string | null>({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetch(pageParam, signal),
    initialPageParam: null,
    getNextPageParam: (page) => page.next,
    // A user who loaded more is reading; fetching all pages again every other second would be disruptive.
    refetchInterval: ({ state }) => (refetchInterval === undefined || (state.data?.pages.length ?? 0) > 1 ? false : refetchInterval),
  });
  const fault = <QueryFault query={query} />;
  if (query.data === undefined) return query.error === null ? <Loading /> : fault;
  return (
    <>
      {fault}
      {children(query.data.pages)}
      {query.hasNextPage && (
        <div className="no-print mt-3 flex justify-center">
          <Button onClick={() => void query.fetchNextPage()} busy={query.isFetchingNextPage}>
            {t.loadMore}
          </Button>
        </div>
      )}
    </>
  );
}

/** A link to a key by its name. */
export function KeyLink({ keyId }: { keyId: string }) {
  const account = useAccount();
  const { nameOf } = useKeyNames();
  return (
    <Link to={account.path(`/keys/${keyId}`)} className="link wrap-anywhere">
      {nameOf(keyId)}
    </Link>
  );
}

/** A link to the usage record of a call, by the end of its id. */
export function RequestLink({ requestId }: { requestId: string }) {
  const account = useAccount();
  return <ShortId id={requestId} to={account.path(`/usage/records/${requestId}`)} />;
}
