// Assigns an error about a field of a nested body to the control of that field. Pure.
import type { ApiFault } from '../../../i18n/errors.js';

/** Returns `at`, the error (by `word`) of the fault at a field below `prefix`; and `shown`, the full name of the field with the fault. */
export function formFaults<Shown>(
  error: unknown,
  prefix: string,
  word: (fault: ApiFault) => Shown,
): { at(field: string): Shown | undefined; readonly shown: readonly string[] } {
  const fault = typeof error === 'object' && error !== null && 'field' in error ? (error as ApiFault) : undefined;
  if (fault?.field?.startsWith(`${prefix}.`) !== true) return { at: () => undefined, shown: [] };
  const field = fault.field.slice(prefix.length + 1);
  // The fault of an entry, which has no control of its own, is shown at the list.
  const control = field.replace(/\[\d+\]$/, '');
  return { at: (name) => (name === control ? word(fault) : undefined), shown: [fault.field] };
}
