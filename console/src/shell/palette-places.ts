// Finds the pages and objects that match a text in the command palette.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { listKeys } from '../api/keys.js';
import { listCatalog } from '../api/models.js';
import { listAccounts, operatorKeys } from '../api/operator.js';
import { gatewayUrl } from '../base.js';
import { paletteText } from '../i18n/palette.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { accountPath, useMaybeAccount, useMe } from '../session/account.js';
import type { NavigationItem } from './navigation.js';

/** A search result. */
export interface Place {
  readonly id: string;
  readonly kind: 'page' | 'action' | 'key' | 'account' | 'model';
  readonly name: string;
  /** Distinguishes the result from others with the same name. */
  readonly hint?: string;
  readonly to: string;
  /** The result is outside of the console. */
  readonly outside?: boolean;
}

const pauseMs = 150;
const ofAKind = 6;
const requestIdForm = /^req_[0-9a-f]{32}$/;

/** Reports whether the text contains each word of the search, ignoring case. */
function matches(text: string, search: string): boolean {
  const lower = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** Returns the places that match a text, the best match first. `isFetching` is true while more may be added. */
export function usePlaces(search: string, items: readonly NavigationItem[]): { places: readonly Place[]; isFetching: boolean } {
  const [t, names] = [useText(paletteText), useText(shellText)];
  const me = useMe();
  const account = useMaybeAccount();
  const text = search.trim();
  const settled = useSettled(text);
  const isSearching = settled !== '';
  /** Reports whether a result of the last search matches the present text too: Enter must not open a result that does not. */
  const isCurrent = (name: string): boolean => text === settled || matches(name, text);

  const keys = useQuery({
    queryKey: ['keys', account?.id, 'palette', settled],
    queryFn: ({ signal }) => listKeys(account!.id, { q: settled, limit: ofAKind }, signal),
    enabled: isSearching && account !== undefined,
  });
  const accounts = useQuery({
    queryKey: [...operatorKeys.accounts, 'palette', settled],
    queryFn: ({ signal }) => listAccounts({ search: settled, state: '', cursor: null }, signal),
    enabled: isSearching && me.user.is_operator,
  });
  const catalog = useQuery({
    queryKey: ['catalog'],
    queryFn: ({ signal }) => listCatalog(signal),
    staleTime: 60_000,
    enabled: isSearching,
  });

  const pages = items.map((item): Place => ({
    id: `page ${item.to}`,
    kind: 'page',
    name: names[item.text] as string,
    to: item.to,
    ...(item.outside === true ? { outside: true } : {}),
  }));
  const deeds: Place[] =
    account?.can('change keys') === true ? [{ id: 'create key', kind: 'action', name: t.createKey, to: account.path('/keys?create') }] : [];
  const places: Place[] = [...deeds, ...pages].filter(({ name }) => matches(name, text));
  const mine = me.accounts
    .filter(({ id }) => id !== account?.id)
    .map(({ id, name }): Place => ({ id, kind: 'account', name, to: accountPath(id, '/') }));
  places.push(...mine.filter(({ name, id }) => matches(`${name} ${id}`, text)).slice(0, ofAKind));
  if (account !== undefined && keys.data !== undefined && isSearching) {
    places.push(
      ...keys.data.data
        .filter(({ name }) => isCurrent(name))
        .slice(0, ofAKind)
        .map((key): Place => ({ id: key.id, kind: 'key', name: key.name, hint: `…${key.last_four}`, to: account.path(`/keys/${key.id}`) })),
    );
  }
  if (accounts.data !== undefined && isSearching) {
    places.push(
      ...accounts.data.data
        .filter(({ id, name }) => isCurrent(`${name} ${id}`))
        .slice(0, ofAKind)
        .map(({ id, name }): Place => ({
          id: `operator ${id}`,
          kind: 'account',
          name,
          hint: names.operatorNavigation,
          to: `/operator/accounts/${id}`,
        })),
    );
  }
  if (isSearching) {
    const models = (catalog.data ?? []).filter(
      ({ id, display_name: name, lifecycle }) => lifecycle !== 'retired' && matches(`${id} ${name}`, settled) && isCurrent(`${id} ${name}`),
    );
    places.push(
      ...models.slice(0, ofAKind).map(({ id, display_name: name }): Place => ({
        id: `model ${id}`,
        kind: 'model',
        name: id,
        hint: name,
        to: `${gatewayUrl}models/${id}`,
        outside: true,
      })),
    );
  }
  return { places, isFetching: text !== settled || [keys, accounts, catalog].some((query) => query.isFetching) };
}

/** Returns the page of the call with this request id; undefined if the text is not one. */
export function recordPath(text: string, account: { path(page: string): string } | undefined): string | undefined {
  const id = text.trim();
  return requestIdForm.test(id) ? account?.path(`/usage/records/${id}`) : undefined;
}

/** Returns the text with a short delay after its last change. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
