// The error for things that do not exist.
import { AppError } from '#client/errors/app-error.js';

/** Returns the thing itself, or raises not_found with details.what naming its kind. */
export function found<T>(
  thing: T | undefined,
  what: 'account' | 'key' | 'user' | 'session' | 'invitation' | 'member' | 'identity' | 'caller',
): T {
  if (thing === undefined)
    throw new AppError('not_found', `There is no ${what} with this ${what === 'caller' ? 'name' : 'id'}.`, { details: { what } });
  return thing;
}
