// The identities that the user can sign in with.
import { useQuery } from '@tanstack/react-query';
import { listIdentities } from '../../api/users.js';

export const identitiesKey = ['me', 'identities'] as const;

export const useIdentities = ({ enabled }: { readonly enabled: boolean } = { enabled: true }) =>
  useQuery({ queryKey: identitiesKey, queryFn: ({ signal }) => listIdentities(signal), enabled });
