// Time zones of accounts.
import { fieldFault } from '#client/errors/fault.js';

/** The time zone of accounts that chose none. */
export const defaultTimeZone = 'UTC';

const charsMax = 64;
/** Offsets such as +08:00 are accepted by Intl, but have no daylight-saving time. */
const nameForm = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** Returns the name of an IANA time zone, in upper and lower case as IANA writes it. Raises invalid_request. */
export function checkedTimeZone(timeZone: string): string {
  if (timeZone.length <= charsMax && nameForm.test(timeZone)) {
    try {
      const name = new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
      // Intl replaces some names by former ones, such as Asia/Kolkata by Asia/Calcutta. A user who chose a name gets it back.
      const isOtherName = name.toLowerCase() !== timeZone.toLowerCase();
      return isOtherName && /^[A-Z]/.test(timeZone) ? timeZone : name;
    } catch {
      // Not a time zone.
    }
  }
  throw fieldFault('time_zone', 'time_zone');
}
