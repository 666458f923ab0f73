// All keys of an account: their state, permissions and spending.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { type ApiKey, keyStates, listKeys } from '../../api/keys.js';
import { usdText } from '../../format/money.js';
import { commonText } from '../../i18n/common.js';
import { keysText } from '../../i18n/keys.js';
import { projectsText } from '../../i18n/projects.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button, ButtonLink, CreateButton } from '../../ui/button.js';
import { SelectField } from '../../ui/field.js';
import { Card, Empty, PageHeader } from '../../ui/layout.js';
import { ActionMenu } from '../../ui/menu.js';
import { ErrorNotice, Loading, Notice } from '../../ui/notice.js';
import { QueryFault } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { useProjects } from '../projects/queries.js';
import { RefusingInList } from '../refusals/refusing.js';
import { type OpenAction, useKeyMenu, useToggle } from './key-actions.js';
import { KeyStateBadge, LimitInBrief, ModelsInBrief, Spend, useStateMeaning } from './key-words.js';
import { ChangeKey, CreateKey, RevealKey } from './lazy-dialogs.js';
import { keysKey } from './queries.js';
import type { Revealed } from './secret/reveal-key.js';

const pageSize = 50;
const inUse = keyStates.filter((state) => state !== 'revoked').join(',');
const typingMs = 250;
/** Spend and last use change without user action. Refreshed less often than on the page of a key, because there may be many keys. */
const refetchMs = 5000;

export default function KeysPage() {
  const account = useAccount();
  const t = useText(keysText);
  const [params, setParams] = useSearchParams();
  const [revealed, setRevealed] = useState<Revealed>();
  const [open, setOpen] = useState<OpenAction>();
  const createRef = useRef<HTMLButtonElement>(null);
  const mayChange = account.can('change keys');

  const set = (name: string, value: string): void =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  const isCreating = mayChange && params.has('create');
  function closeRevealed(): void {
    setRevealed(undefined);
    // The previous dialog is closed, so the element that had the focus no longer exists.
    setTimeout(() => createRef.current?.focus());
  }
  const createButton = (which: '1' | 'first') =>
    mayChange && (
      <CreateButton ref={which === '1' ? createRef : undefined} onClick={() => set('create', which)}>
        {t.create}
      </CreateButton>
    );

  return (
    <>
      <PageHeader
        title={t.title}
        description={mayChange ? t.about : t.mayNot}
        actions={
          <>
            {account.can('change members') && <ButtonLink to={account.path('/management-keys')}>{t.managementKeys}</ButtonLink>}
            {createButton('1')}
          </>
        }
      />
      <Search q={params.get('q') ?? ''} state={params.get('state') ?? ''} project={params.get('project') ?? ''} set={set} />
      <KeyList
        q={params.get('q') ?? ''}
        state={params.get('state') ?? ''}
        project={params.get('project') ?? ''}
        onClear={() => setParams({}, { replace: true })}
        create={createButton('first')}
        open={setOpen}
      />
      {isCreating && (
        <CreateKey
          project={params.get('project') ?? ''}
          isFirst={params.get('create') === 'first'}
          onClose={() => set('create', '')}
          onCreated={(created) => {
            set('create', '');
            setRevealed(created);
          }}
        />
      )}
      <ChangeKey open={open} onClose={() => setOpen(undefined)} onRevealed={setRevealed} />
      {revealed !== undefined && <RevealKey key={revealed.secret} revealed={revealed} onClose={closeRevealed} />}
    </>
  );
}

function Search({ q, state, project, set }: { q: string; state: string; project: string; set: (name: string, value: string) => void }) {
  const [t, names] = [useText(keysText), useText(projectsText)];
  const projects = useProjects().data?.filter(({ id, deleted_at }) => deleted_at === null || id === project) ?? [];
  const [text, setText] = useState(q);
  // The address follows what is typed after a moment, and the field follows the address when that changes by itself.
  const [known, setKnown] = useState(q);
  if (q !== known) {
    setKnown(q);
    setText(q);
  }
  useEffect(() => {
    if (text.trim() === q) return undefined;
    const timer = setTimeout(() => {
      setKnown(text.trim());
      set('q', text.trim());
    }, typingMs);
    return () => clearTimeout(timer);
  });
  return (
    <form role="search" className="mb-4 flex flex-wrap items-end gap-3" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        className="control max-w-sm"
        aria-label={t.searchLabel}
        placeholder={t.searchHint}
        maxLength={200}
        value={text}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
      />
      <SelectField
        label={t.stateLabel}
        hideLabel
        className="max-w-60"
        value={state}
        onChange={(value) => set('state', value)}
        options={[
          { value: '', label: t.stateInUse },
          { value: 'all', label: t.stateAll },
          ...keyStates.map((each) => ({ value: each, label: t[each] })),
        ]}
      />
      {projects.length > 1 && (
        <SelectField
          label={names.project}
          hideLabel
          className="max-w-60"
          value={project}
          onChange={(value) => set('project', value)}
          options={[{ value: '', label: t.anyProject }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
        />
      )}
    </form>
  );
}

interface ListProps {
  readonly q: string;
  readonly state: string;
  readonly project: string;
  readonly onClear: () => void;
  readonly create: React.ReactNode;
  readonly open: (action: OpenAction) => void;
}

function KeyList({ q, state, project, onClear, create, open }: ListProps) {
  const account = useAccount();
  const [t, common] = [useText(keysText), useText(commonText)];
  const toggle = useToggle();
  const menu = useKeyMenu(open, toggle);
  const meaning = useStateMeaning();
  const query = useInfiniteQuery({
    queryKey: [...keysKey(account.id), 'list', q, state, project],
    queryFn: ({ pageParam, signal }) =>
      listKeys(
        account.id,
        { q, state: state === 'all' ? '' : state === '' ? inUse : state, project, limit: pageSize, cursor: pageParam },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    // Each page is a request, so that a long list is fetched less often.
    refetchInterval: ({ state }) => refetchMs * (state.data?.pages.length ?? 1),
    placeholderData: (before) => before,
  });
  if (query.data === undefined) return query.error === null ? <Loading /> : <QueryFault query={query} />;

  const keys = query.data.pages.flatMap(({ data }) => data);
  const more = query.hasNextPage && (
    <Button onClick={() => void query.fetchNextPage()} busy={query.isFetchingNextPage}>
      {common.loadMore}
    </Button>
  );
  return (
    <>
      <QueryFault query={query} />
      {toggle.error !== null && <ErrorNotice error={toggle.error} />}
      {keys.length > 0 ? (
        <Card flush>
          <DataTable<ApiKey>
            caption={t.title}
            room="most"
            dense
            className="two-lines"
            rows={keys}
            rowKey={({ id }) => id}
            columns={[
              {
                name: t.name,
                className: 'line-1 cut wide',
                cell: (key) => (
                  <span className="flex items-baseline gap-1.5">
                    <Link to={account.path(`/keys/${key.id}`)} className="link min-w-0 truncate" title={key.name}>
                      {key.name}
                    </Link>
                    <code className="shrink-0 font-normal text-soft">…{key.last_four}</code>
                  </span>
                ),
              },
              {
                name: t.stateLabel,
                className: 'line-2 state',
                cell: (key) => (
                  <>
                    <span title={meaning(key)}>
                      <KeyStateBadge state={key.state} />
                    </span>
                    {key.expires_at !== null && key.state !== 'expired' && (
                      <span className="ml-1.5 text-[0.8125rem] text-soft">
                        {t.expires} <When at={key.expires_at} style="day" />
                      </span>
                    )}
                    <RefusingInList apiKey={key} />
                  </>
                ),
              },
              { name: t.models, className: 'cut narrow', cell: ({ models }) => <ModelsInBrief models={models} /> },
              {
                name: t.spend,
                className: 'line-1',
                usd: ({ spent_usd }) => spent_usd,
                rounded: true,
                cell: (key, digits) => (
                  <>
                    <span className="hidden text-soft cards:inline">{t.spend} </span>
                    <Spend apiKey={key} digits={digits} />
                    {/* A card does not show the column of the limit. */}
                    <span className="hidden text-soft cards:inline">
                      {' · '}
                      {key.limit_usd === null ? t.noLimit : `${t.limitShort} ${usdText(key.limit_usd)}`}
                    </span>
                  </>
                ),
              },
              { name: t.limitShort, numeric: true, cell: (key) => <LimitInBrief apiKey={key} /> },
              {
                name: t.lastUsed,
                className: 'line-2',
                cell: (key) => (
                  <>
                    <span className="hidden cards:inline">{t.lastUsedAt} </span>
                    {key.last_used_at === null ? (
                      <span className="text-soft cards:lowercase">{t.neverUsed}</span>
                    ) : (
                      <When at={key.last_used_at} style="relative" />
                    )}
                  </>
                ),
              },
              {
                name: common.actions,
                hideName: true,
                className: 'num',
                cell: (key) => <ActionMenu label={t.actionsOf({ name: key.name })} actions={menu(key)} />,
              },
            ]}
          />
        </Card>
      ) : query.hasNextPage ? (
        <Notice>{t.searching}</Notice>
      ) : q === '' && state === '' && project === '' ? (
        <Empty title={t.none} action={create}>
          {t.noneHint}
        </Empty>
      ) : (
        <Empty title={t.noneFound} action={<Button onClick={onClear}>{t.clearSearch}</Button>}>
          {t.noneFoundHint}
        </Empty>
      )}
      {more && <div className="mt-4 flex justify-center">{more}</div>}
    </>
  );
}
