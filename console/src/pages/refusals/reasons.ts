// The reasons for which calls are refused, in a few words.
import { refusingText } from '../../i18n/refusing.js';
import { useText } from '../../i18n/text.js';

/** The reasons for which calls are refused most often, for a filter. */
export const refusalReasons: readonly string[] = Object.keys(refusingText.en)
  .filter((name) => name.startsWith('reason_'))
  .map((name) => name.slice('reason_'.length));

/** Returns a function that names a reason in a few words; an unknown one is shown as the API returns it. */
export function useReasonName(): (reason: string) => string {
  const t = useText(refusingText);
  return (reason) => {
    const name = `reason_${reason}`;
    return name in t ? (t[name as keyof typeof t] as string) : reason;
  };
}
