// The browser and the system that a User-Agent names, so that users recognise their devices. Pure.
import Bowser from 'bowser';

/** Returns for example "Firefox 140" and "Linux"; null for what is not known. */
export function deviceOf(userAgent: string): { browser: string | null; system: string | null } {
  if (userAgent === '') return { browser: null, system: null };
  const { browser, os } = Bowser.parse(userAgent);
  const major = browser.version?.split('.')[0] ?? '';
  return { browser: browser.name ? `${browser.name} ${major}`.trim() : null, system: os.name ?? null };
}
