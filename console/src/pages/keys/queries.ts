// The queries of the pages about keys, and how they are refreshed after a change.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ApiKey } from '../../api/keys.js';
import { listCatalog } from '../../api/models.js';
import { projectsKey } from '../projects/queries.js';
import { useAccount } from '../../session/account.js';

/** The beginning of the query keys of an account's keys. */
export const keysKey = (accountId: string) => ['keys', accountId] as const;
/** One key. */
export const keyKey = (accountId: string, keyId: string) => ['keys', accountId, 'one', keyId] as const;

/** All models of the catalog. */
export const useCatalog = () => useQuery({ queryKey: ['catalog'], queryFn: ({ signal }) => listCatalog(signal), staleTime: 60_000 });

/** Refreshes the pages after a key has changed. */
export function useKeyChanged(): (key: ApiKey) => void {
  const { id: accountId } = useAccount();
  const client = useQueryClient();
  return (key) => {
    client.setQueryData(keyKey(accountId, key.id), key);
    void client.invalidateQueries({ queryKey: keysKey(accountId) });
    void client.invalidateQueries({ queryKey: projectsKey(accountId) });
  };
}
