// Formats counts and durations in the current language.
import { useLanguage } from '../i18n/text.js';

/** Returns a function that formats a count, for example `1,234`. */
export function useNumber(): (count: number) => string {
  const format = new Intl.NumberFormat(useLanguage());
  return (count) => format.format(count);
}

/** Formats a duration: `840 ms`, `1.24 s`, `2 min 5 s`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
