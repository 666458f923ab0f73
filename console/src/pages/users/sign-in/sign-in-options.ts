// The ways in which users can sign in here.
import { useQuery } from '@tanstack/react-query';
import { getSignInOptions } from '../../../api/users.js';

/** The sign-in methods; they do not change while the page is open. */
export const useSignInOptions = () =>
  useQuery({ queryKey: ['sign-in-options'], queryFn: ({ signal }) => getSignInOptions(signal), staleTime: Number.POSITIVE_INFINITY });
