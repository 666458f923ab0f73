// Puts what the API says about a field of a nested body at the control of that field. Pure.
import type { ApiError } from '../../api/client.js';

/** The fault at a field below `prefix`, without the field's name in front; and the whole name of the one that has one. */
export function formFaults(error: unknown, prefix: string): { at(field: string): string | undefined; readonly shown: readonly string[] } {
  const { field: named, message = '' } = (typeof error === 'object' && error !== null ? error : {}) as Partial<
    Pick<ApiError, 'field' | 'message'>
  >;
  if (named == null || !named.startsWith(`${prefix}.`)) return { at: () => undefined, shown: [] };
  const field = named.slice(prefix.length + 1);
  const whole = `${prefix}.${field}`;
  const text = message.startsWith(whole) ? message.slice(whole.length).replace(/^:/, '').trim() : message;
  // Of a list that is typed as one text, the fault of an entry is the fault of the list.
  const list = field.startsWith('aliases[') ? 'aliases' : field;
  return { at: (name) => (name === list ? text : undefined), shown: [whole] };
}
