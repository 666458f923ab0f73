// The scopes of management keys. Pure.

/** What a management key may do, in the order in which scopes are listed. */
export const scopes = [
  'keys:read',
  'keys:write',
  'usage:read',
  'billing:read',
  'projects:read',
  'projects:write',
  'webhooks:read',
  'webhooks:write',
] as const;

/** One of them. */
export type Scope = (typeof scopes)[number];

/** The scopes that concern the whole account, which a key of one project cannot have. */
export const accountScopes: readonly Scope[] = ['billing:read', 'projects:write', 'webhooks:read', 'webhooks:write'];

/** Returns the scopes with those that they include: writing includes reading. */
export function withIncluded(granted: readonly string[]): string[] {
  return [...new Set(granted.flatMap((scope) => [scope, scope.replace(/:write$/, ':read')]))];
}
