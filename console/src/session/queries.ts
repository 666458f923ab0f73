// The query cache. Money and states are fetched again when a page is focused again.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError, mayPass } from '../api/client.js';
import { getMe, type Me } from '../api/session.js';

/** The query key of the signed-in user, which is null when no user is signed in. */
export const meKey = ['me'] as const;

/** The user whose data the page has; also after their session has ended. */
let ownerId: string | undefined;

/** Drops what was fetched for the user. */
export function forgetUser(): void {
  queryClient.clear();
  ownerId = undefined;
}

/** Returns the signed-in user, or null. */
export async function fetchMe({ signal }: { signal: AbortSignal }): Promise<Me | null> {
  try {
    const me = await getMe(signal);
    // Another user has signed in: nothing of the previous user may stay on the page.
    if (ownerId !== undefined && ownerId !== me.user.id) location.reload();
    ownerId = me.user.id;
    return me;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'session_unknown') return null;
    throw error;
  }
}

// Any response can show that the session was ended elsewhere, which leads to the sign-in page, or that the account now requires a second factor,
// which leads to its setup.
function noticeLostAccess(error: unknown): void {
  if (!(error instanceof ApiError)) return;
  if (error.code === 'session_unknown') queryClient.setQueryData(meKey, null);
  if (error.rule === 'account_second_factor') void queryClient.invalidateQueries({ queryKey: meKey });
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeLostAccess }),
  mutationCache: new MutationCache({ onError: noticeLostAccess }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // Only transient errors are retried: no response, or an unavailable service.
      retry: (failures, error) => failures < 2 && mayPass(error),
      // The gateway may be reachable without the internet, so requests are made even when the browser is offline.
      networkMode: 'always',
      refetchOnReconnect: true,
    },
    mutations: { networkMode: 'always' },
  },
});

// Another tab may have signed in as another user, or signed out.
addEventListener('focus', () => void queryClient.invalidateQueries({ queryKey: meKey }));

/** How often live figures are fetched while the page is visible. */
export const liveMs = 2000;
