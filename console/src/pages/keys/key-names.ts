// The names of an account's keys.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Page } from '../../api/client.js';
import { type ApiKey, listKeys } from '../../api/keys.js';
import { useAccount } from '../../session/account.js';
import { shortId } from '../../ui/short-id.js';

const pagesMax = 5;
const noKeys: readonly ApiKey[] = [];

async function fetchKeyNames(accountId: string, signal: AbortSignal): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const { data, next }: Page<ApiKey> = await listKeys(accountId, { limit: 200, cursor }, signal);
    keys.push(...data);
    if (next === null) break;
    cursor = next;
  }
  return keys;
}

/** Returns the names of the account's keys, newest first. Keys with the same name are distinguished by their last characters. */
export function useKeyNames(): { readonly keys: readonly ApiKey[]; nameOf(keyId: string): string } {
  const account = useAccount();
  const { data: keys = noKeys, isPending } = useQuery({
    queryKey: ['keys', account.id, 'names'],
    queryFn: ({ signal }) => fetchKeyNames(account.id, signal),
    staleTime: 30_000,
  });
  return useMemo(() => {
    const counts = new Map<string, number>();
    for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1);
    const names = new Map(keys.map(({ id, name, last_four }) => [id, counts.get(name) === 1 ? name : `${name} …${last_four}`]));
    // If there are very many keys, the oldest are not fetched and are shown by the ends of their ids.
    return { keys, nameOf: (keyId) => names.get(keyId) ?? (isPending ? '…' : shortId(keyId)) };
  }, [keys, isPending]);
}
