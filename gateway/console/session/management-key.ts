// Requests of programs, which send a management key in place of a session.
import type { Context } from 'koa';
import { fault } from '#client/errors/fault.js';
import type { AuthenticateManagementKeyResponse, ManagementKey } from '#proto/auth/v1/users.js';
import { type Scope, withIncluded } from '#rules/access/scopes.js';
import { hashSecret, isWellFormedSecret } from '#rules/keys/key-secrets.js';
import type { ConsoleDeps } from '../deps.js';
import { unknownUserContextOf } from './call-contexts.js';

/**
 * Returns the key of a request, of either kind. Other bearer tokens are those that a proxy in front of the gateway adds to the requests of
 * browsers.
 */
export function bearerKeyOf(ctx: Context): string | undefined {
  return /^Bearer +([sm]k-tg-\S*) *$/i.exec(ctx.get('authorization'))?.[1];
}

/**
 * Returns a function that authenticates a management key. It raises key_malformed, key_unknown, key_revoked, key_expired, key_disabled and
 * address_not_permitted.
 */
export function authenticateBy(
  secret: string,
  ctx: Context,
  { peers, config }: Pick<ConsoleDeps, 'peers' | 'config'>,
): () => Promise<AuthenticateManagementKeyResponse> {
  if (!isWellFormedSecret(secret, 'mk-tg-')) throw fault(secret.startsWith('sk') ? 'platform_key_sent' : 'management_key_malformed', {});
  const request = { secretHash: hashSecret(secret), clientAddress: ctx.ip };
  return () => peers.users.authenticateManagementKey(request, unknownUserContextOf({ config }));
}

/** Raises role_not_permitted unless the key has the scope. Operations without a scope are for sessions only. */
export function assertScope({ scopes }: ManagementKey, scope: Scope | undefined): void {
  if (scope === undefined) throw fault('no_scope', {});
  if (!withIncluded(scopes).includes(scope)) throw fault('scope_missing', { scope });
}
