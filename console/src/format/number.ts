// Formats counts in the current language.
import { useLanguage } from '../i18n/text.js';

/** Returns a function that formats a count, for example `1,234`. */
export function useNumber(): (count: number) => string {
  const format = new Intl.NumberFormat(useLanguage());
  return (count) => format.format(count);
}
