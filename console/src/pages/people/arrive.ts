// What happens once somebody is signed in: nothing of whoever was here before is kept, and they go where they wanted to.
import type { Me } from '../../api/session.js';
import { fetchMe, meKey, queryClient } from '../../session/queries.js';

/** Forgets what was fetched for somebody else, and asks who is signed in now. */
export async function arrive(): Promise<Me | null> {
  queryClient.clear();
  return queryClient.fetchQuery({ queryKey: meKey, queryFn: fetchMe });
}

/** A page of the console from an address, or its first. What begins with two slashes would be another site elsewhere. */
export function pageOf(next: string | null): string {
  return next !== null && /^\/(?![/\\])/.test(next) ? next : '/';
}

/** The token behind the # of this page's address, which the browser sends to nobody. */
export function tokenOfAddress(): string | undefined {
  const token = location.hash.slice(1);
  return /^[A-Za-z0-9_-]{43}$/.test(token) ? token : undefined;
}
