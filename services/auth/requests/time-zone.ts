// Time zones of accounts.
import { fieldFault } from '#client/errors/fault.js';

/** The time zone of accounts that chose none. */
export const defaultTimeZone = 'UTC';

const charsMax = 64;
/** Offsets such as +08:00 are accepted by Intl, but have no daylight-saving time. */
const nameForm = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** Returns the name of an IANA time zone in its own spelling. Raises invalid_request. */
export function checkedTimeZone(timeZone: string): string {
  if (timeZone.length <= charsMax && nameForm.test(timeZone)) {
    try {
      return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
    } catch {
      // Not a time zone.
    }
  }
  throw fieldFault('time_zone', 'time_zone');
}
