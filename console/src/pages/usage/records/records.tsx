// Usage records: a row for each call, and next to the list the details of one, which are a separate page when opened by address.
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Columns3, Download, Pause, Radio } from 'lucide-react';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useParams } from 'wouter';
import { useHistoryState } from 'wouter/use-browser-location';
import { exportUrl, listRecords, type RecordPage, type RecordSearch } from '../../../api/usage.js';
import { useNumber } from '../../../format/number.js';
import { commonText } from '../../../i18n/common.js';
import { useOffsetAt } from '../../../format/time.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { serverFile } from '../../../session/server-file.js';
import { liveMs } from '../../../session/queries.js';
import { Button, buttonClass, ButtonLink } from '../../../ui/button.js';
import { classNames } from '../../../ui/class-names.js';
import { LazyDialog } from '../../../ui/lazy-dialog.js';
import { Card, PageHeader } from '../../../ui/layout.js';
import { ErrorNotice, SkeletonRows } from '../../../ui/notice.js';
import { RefusedInstead } from '../../refusals/refusal-table.js';
import { FilterBar } from '../filter-bar.js';
import { Histogram } from './histogram.js';
import { type Loaded, withNewest } from './newest.js';
import { NoCalls } from '../no-calls.js';
import { type FromList, RecordTable } from './record-table.js';
import { useView } from '../use-view.js';
import { boundsOf, presets, type Range, searchOf, writeView } from '../view.js';

const WholePage = lazy(() => serverFile(async () => ({ default: (await import('../record/record.js')).RecordPage })));
const RecordSheet = lazy(() => serverFile(() => import('../record/sheet.js')));
const ColumnDialog = lazy(() => serverFile(() => import('./column-dialog.js')));
const pageSize = 50;

export default function Records() {
  const { record } = useParams<{ record?: string }>();
  const state = useHistoryState<FromList | null>();
  if (record !== undefined && state?.fromList !== true)
    return (
      <Suspense>
        <WholePage key={record} requestId={record} />
      </Suspense>
    );
  return <List open={record} />;
}

/** `open`: the call whose details are shown next to the list. */
function List({ open }: { open: string | undefined }) {
  const t = useText(usageText);
  const account = useAccount();
  const offsetAt = useOffsetAt();
  const [view] = useView();
  /** Whether a record was opened, and its file is needed. */
  const wasOpen = useRef(false);
  if (open !== undefined) wasOpen.current = true;
  const range: Range = view.range ?? 'all';
  const search = searchOf(view, boundsOf(range, Date.now(), offsetAt));
  return (
    <>
      <PageHeader
        title={t.records}
        description={t.recordsAbout}
        actions={
          <>
            <Exports search={search} className="max-sm:hidden" />
            <ButtonLink to={account.path('/usage/refusals')}>{t.toRefusals}</ButtonLink>
            <ButtonLink to={account.path(`/usage${writeView({ ...view, requestId: '' })}`)}>{t.toOverview}</ButtonLink>
          </>
        }
      />
      <Found range={range} search={search} />
      <p className="mt-4 flex flex-wrap gap-2 sm:hidden">
        <Exports search={search} />
      </p>
      <LazyDialog open={open !== undefined} onClose={() => history.back()}>
        {wasOpen.current && <RecordSheet requestId={open} />}
      </LazyDialog>
    </>
  );
}

function Exports({ search, className }: { search: RecordSearch; className?: string }) {
  const t = useText(usageText);
  const account = useAccount();
  return (['csv', 'jsonl'] as const).map((format) => (
    <a key={format} className={classNames(buttonClass(), className)} download href={exportUrl(account.id, search, format)}>
      <Download size={16} aria-hidden />
      {format === 'csv' ? t.exportCsv : t.exportJsonl}
    </a>
  ));
}

function Found({ range, search }: { range: Range; search: RecordSearch }) {
  const t = useText(usageText);
  const common = useText(commonText);
  const account = useAccount();
  const count = useNumber();
  const [isLive, setLive] = useState(true);
  // Neither a past range nor a single call gets new calls.
  const [{ sort }] = useView();
  const canBeLive = search.until === undefined && search.request_id === undefined && sort === undefined;
  const queryKey = ['usage', account.id, 'records', search, sort];
  const [isChoosing, setChoosing] = useState(false);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) => listRecords(account.id, { ...search, sort, limit: pageSize, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    // The query below adds new calls; a loaded page is not fetched again.
    staleTime: Infinity,
    gcTime: 0,
  });
  const rows = query.data?.pages.flatMap(({ data }) => data);
  return (
    <>
      <FilterBar shown={range} ranges={[...presets, 'all']} ids>
        {canBeLive && (
          <Button aria-pressed={isLive} title={isLive ? t.liveOn : t.liveOff} onClick={() => setLive(!isLive)}>
            {isLive ? <Radio size={16} aria-hidden className="text-good" /> : <Pause size={16} aria-hidden />}
            {t.live}
          </Button>
        )}
        <Button aria-haspopup="dialog" onClick={() => setChoosing(true)}>
          <Columns3 size={16} aria-hidden />
          {t.columns}
        </Button>
      </FilterBar>
      {search.request_id === undefined && <Histogram range={range} />}
      {isChoosing && (
        <LazyDialog onClose={() => setChoosing(false)}>
          <ColumnDialog onClose={() => setChoosing(false)} />
        </LazyDialog>
      )}
      <p role="status" className="sr-only">
        {canBeLive && isLive && rows !== undefined && <NewCalls key={JSON.stringify(search)} queryKey={queryKey} search={search} />}
      </p>
      {query.error !== null && (
        <ErrorNotice error={query.error} onRetry={() => void (rows === undefined ? query.refetch() : query.fetchNextPage())} />
      )}
      {rows === undefined ? (
        query.error === null && <SkeletonRows />
      ) : rows.length === 0 ? (
        search.request_id === undefined ? (
          <NoCalls shown={range} widest="all" />
        ) : (
          <RefusedInstead requestId={search.request_id} otherwise={<NoCalls shown={range} widest="all" />} />
        )
      ) : (
        <>
          <Card flush>
            <RecordTable rows={rows} />
          </Card>
          <div className="mt-3 flex flex-wrap items-center gap-3 text-sm text-soft">
            {query.hasNextPage && (
              <Button onClick={() => void query.fetchNextPage()} busy={query.isFetchingNextPage}>
                {common.loadMore}
              </Button>
            )}
            {query.data?.pages[0]?.newest_only === true && <span>{t.newestOnly}</span>}
            <span>{query.hasNextPage ? t.shown({ count: count(rows.length) }) : t.end({ count: count(rows.length) })}</span>
          </div>
        </>
      )}
    </>
  );
}

/** Polls for the newest calls, puts them on top of the loaded ones, and shows how many arrived. */
function NewCalls({ queryKey, search }: { queryKey: readonly unknown[]; search: RecordSearch }) {
  const t = useText(usageText);
  const account = useAccount();
  const client = useQueryClient();
  const [announced, setAnnounced] = useState(0);
  const { data: page } = useQuery({
    queryKey: ['usage', account.id, 'newest', search],
    queryFn: ({ signal }) => listRecords(account.id, { ...search, limit: pageSize }, signal),
    // What was just loaded is not fetched again immediately.
    initialData: () => client.getQueryData<Loaded>(queryKey)?.pages[0],
    staleTime: liveMs,
    refetchInterval: liveMs,
    gcTime: 0,
  });
  const seen = useRef<RecordPage>(undefined);
  useEffect(() => {
    if (page === undefined || seen.current === page) return;
    // A page that is being added to the list would replace what is put on top of it meanwhile. The list then renders this again.
    if (client.isFetching({ queryKey, exact: true }) > 0) return;
    seen.current = page;
    const loaded = client.getQueryData<Loaded>(queryKey);
    if (loaded === undefined) return;
    const next = withNewest(loaded, page);
    if (next.added > 0) setAnnounced(next.added);
    client.setQueryData<Loaded>(queryKey, next.loaded);
  });
  return announced > 0 && t.newCalls({ count: announced });
}
