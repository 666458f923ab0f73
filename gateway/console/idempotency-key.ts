// The header by which a browser repeats a request that it got no answer to, without doing it twice.
import type { Context } from 'koa';
import { AppError } from '#client/errors/app-error.js';

const charsMax = 128;

/** The key as a service keeps it, apart from those of other scopes; empty without the header. Raises invalid_request when it is too long. */
export function idempotencyKeyOf(ctx: Context, scope: string): string {
  const given = ctx.get('idempotency-key');
  // Cut off, two keys with a common beginning would be one.
  if (given.length > charsMax) {
    throw new AppError('invalid_request', `Idempotency-Key: must have at most ${charsMax} characters, for example a UUID`, {
      details: { field: 'idempotency-key' },
    });
  }
  return given === '' ? '' : `${scope} ${given}`;
}
