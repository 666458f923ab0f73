// Authenticates a request by its platform key, from either of the two headers that clients use.
import type { Context, Middleware, Next } from 'koa';
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { KeyReplica } from '../../replicas/keys.js';
import { stateOf } from '../request-state.js';
import { noteTiming } from '../server-timing.js';

/** Returns the secrets that a request carries: x-api-key first, then the bearer token. */
function secretsOf(ctx: Context): string[] {
  const apiKey = ctx.get('x-api-key').trim();
  const bearer = /^Bearer +(\S+) *$/i.exec(ctx.get('authorization'))?.[1] ?? '';
  return [apiKey, bearer].filter((secret, index, all) => secret !== '' && all.indexOf(secret) === index);
}

/** Creates the middleware. If both headers are sent and differ, the one that has the form of a platform key is used. */
export function authenticate(keys: KeyReplica): Middleware {
  return async (ctx: Context, next: Next) => {
    const secrets = secretsOf(ctx);
    if (secrets.length === 0) {
      throw new AppError(
        'key_missing',
        'No platform key was sent. Send it as "Authorization: Bearer <API_KEY>" or "x-api-key: <API_KEY>".',
      );
    }
    const startedAtMs = performance.now();
    for (const [index, secret] of secrets.entries()) {
      try {
        await noteKey(ctx, secret, keys);
        stateOf(ctx).renewKey = () => noteKey(ctx, secret, keys);
        break;
      } catch (error) {
        const isLast = index === secrets.length - 1;
        if (isLast || !hasReason(error, 'key_malformed', 'key_unknown')) throw error;
      }
    }
    noteTiming(ctx, 'auth', startedAtMs);
    await next();
  };
}

async function noteKey(ctx: Context, secret: string, keys: KeyReplica): Promise<void> {
  const { key, project, accountRateLimits, budgets, accountTimeZone, neverLogPrompts } = await keys.authenticate(secret, ctx);
  const state = stateOf(ctx);
  state.key = key;
  state.secret = secret;
  state.project = project;
  state.accountRateLimits = accountRateLimits;
  state.budgets = budgets;
  state.accountTimeZone = accountTimeZone;
  state.neverLogPrompts = neverLogPrompts;
}
