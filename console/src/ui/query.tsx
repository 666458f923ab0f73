// Content that has to be fetched first: loading, a fault with a way on, or the content. What is there already stays while it is fetched anew.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { mayPass } from '../api/client.js';
import { ErrorNotice, Loading } from './notice.js';

/** What is told of a fetch in its place. */
interface Told {
  readonly data: unknown;
  readonly error: Error | null;
  readonly isFetchNextPageError?: boolean;
  refetch(): unknown;
  fetchNextPage?(): unknown;
}

/** The fault to show with what was fetched: none for what is there and could only not be fetched anew, for the frame says how old it is. */
export function faultOf({
  data,
  error,
  isFetchNextPageError = false,
}: Pick<Told, 'data' | 'error' | 'isFetchNextPageError'>): Error | null {
  return data !== undefined && !isFetchNextPageError && mayPass(error) ? null : error;
}

/** The same with a way on. */
export function QueryFault({ query }: { query: Told }) {
  const fault = faultOf(query);
  if (fault === null) return null;
  return (
    <ErrorNotice error={fault} onRetry={() => void (query.isFetchNextPageError === true ? query.fetchNextPage?.() : query.refetch())} />
  );
}

export function Fetched<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  return (
    <>
      <QueryFault query={query} />
      {query.data !== undefined ? children(query.data) : query.error === null && <Loading />}
    </>
  );
}
