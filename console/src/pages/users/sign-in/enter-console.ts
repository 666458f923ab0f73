// Functions of the sign-in pages: replace the previous user's data, and read the requested page and the token from the address.
import type { Me } from '../../../api/session.js';
import { fetchMe, forgetUser, meKey, queryClient } from '../../../session/queries.js';

/** Drops what was fetched for the previous user, and queries the new user. */
export async function enterConsole(): Promise<Me | null> {
  forgetUser();
  return queryClient.fetchQuery({ queryKey: meKey, queryFn: fetchMe });
}

/** Returns the page of the console in an address, or the first page. A path that begins with two slashes would lead to another site. */
export function pageOf(next: string | null): string {
  return next !== null && /^\/(?![/\\])/.test(next) ? next : '/';
}

/** Returns the token in the fragment of this page's address, which browsers do not send to servers. */
export function tokenOfAddress(): string | undefined {
  const token = location.hash.slice(1);
  return /^[A-Za-z0-9_-]{43}$/.test(token) ? token : undefined;
}
