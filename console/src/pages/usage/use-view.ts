// The view in the address, the name of the chosen zone, and the names of keys and members.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import { getTotals } from '../../api/usage.js';
import { listMembers, type Member } from '../../api/users.js';
import { useZone, zoneName } from '../../format/time.js';
import { usageText } from '../../i18n/usage.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { shortId } from '../../ui/short-id.js';
import { membersKey } from '../users/query-keys.js';
import { noMember, readView, type UsageView, writeView } from './view.js';

/** Returns the view and a function that changes parts of it. Each change is a step in the browser's history. */
export function useView(): [UsageView, (change: Partial<UsageView>) => void] {
  const search = useSearch();
  const [path, go] = useLocation();
  const view = useMemo(() => readView(search), [search]);
  return [view, (change) => go(path + writeView({ ...view, ...change }))];
}

/** Returns a function that names the chosen zone at an instant, for example `America/New_York (UTC−05:00)`. */
export function useZoneName(): (atMs?: number) => string {
  const zone = useZone();
  const t = useText(usageText);
  return (atMs = Date.now()) => {
    const offset = zoneName(zone, new Date(atMs));
    if (zone === 'utc') return offset;
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    return timeZone === offset ? offset : t.localName({ name: timeZone, offset });
  };
}

/** Returns the models that were ever called, highest cost first, or undefined while loading. */
export function useCalledModels(): readonly string[] | undefined {
  const account = useAccount();
  const { data } = useQuery({
    queryKey: ['usage', account.id, 'models'],
    queryFn: ({ signal }) => getTotals(account.id, { group_by: 'model' }, signal),
    staleTime: 30_000,
  });
  return data?.data.map(({ name }) => name ?? '');
}

/**
 * Returns the members, and a function that returns the name for a user id. `noMember` and "" mean no member. For a former
 * member, and for an operator who is not a member, only the id is known.
 */
export function useMembers(): { readonly members: readonly Member[]; memberName(userId: string): string } {
  const account = useAccount();
  const t = useText(usageText);
  const { data } = useQuery({
    queryKey: membersKey(account.id),
    queryFn: ({ signal }) => listMembers(account.id, signal),
    enabled: account.can('look'),
    staleTime: 30_000,
  });
  const members = data?.data ?? [];
  return {
    members,
    memberName(userId) {
      if (userId === noMember || userId === '') return t.noMember;
      const member = members.find(({ id }) => id === userId);
      if (member !== undefined) return member.name || member.email;
      return data === undefined ? shortId(userId) : t.notMember({ id: shortId(userId) });
    },
  };
}
