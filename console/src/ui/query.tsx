// Content that has to be fetched first: a loading indicator, an error with a retry, or the content. Existing content stays while it is refreshed.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isUnreachable, mayPass } from '../api/client.js';
import { ErrorNotice, Loading } from './notice.js';

/** The part of a query's result that decides what is shown in its place. */
interface QueryState {
  readonly data: unknown;
  readonly error: Error | null;
  readonly isFetchNextPageError?: boolean;
  refetch(): unknown;
  fetchNextPage?(): unknown;
}

/** Returns the error to show with a query: none if the server cannot be reached or only a refresh failed, because the frame shows both. */
export function faultOf({
  data,
  error,
  isFetchNextPageError = false,
}: Pick<QueryState, 'data' | 'error' | 'isFetchNextPageError'>): Error | null {
  if (isFetchNextPageError) return error;
  return isUnreachable(error) || (data !== undefined && mayPass(error)) ? null : error;
}

/** Shows that error with a retry button. */
export function QueryFault({ query }: { query: QueryState }) {
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
      {query.data !== undefined ? children(query.data) : faultOf(query) === null && <Loading />}
    </>
  );
}
