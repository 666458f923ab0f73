// The error for objects that do not exist.
import { fault } from '#client/errors/fault.js';

/** Returns the value, or raises not_found, with its kind in details.what, when it is undefined. */
export function found<T>(
  thing: T | undefined,
  what:
    | 'account'
    | 'project'
    | 'key'
    | 'user'
    | 'session'
    | 'invitation'
    | 'member'
    | 'identity'
    | 'second_factor'
    | 'caller'
    | 'management_key',
): T {
  if (thing === undefined) throw what === 'caller' ? fault('no_such_name', { what }) : fault('no_such_id', { what });
  return thing;
}
