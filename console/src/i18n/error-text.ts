// Errors of the API in the language in use. Their words are fetched with the first error.
import type { ApiFault, Words } from './errors.js';
import { currentLanguage } from './text.js';

let dictionaries: typeof import('./errors.js') | undefined;

/** Whether the words for errors have not been fetched. */
export const areErrorsMissing = (): boolean => dictionaries === undefined;

/** Fetches the words for errors. Without them errors are shown in the API's own English. */
export async function fetchErrors(): Promise<void> {
  dictionaries ??= await import('./errors.js').catch(() => undefined);
}

/** The words for an error, and the API's own sentence where that may say more. */
export function errorWords(fault: ApiFault): Words {
  return dictionaries?.wordsOf(fault, currentLanguage()) ?? { text: fault.message, detail: undefined };
}

/** Returns the text of an error at its field, without the name of the field. */
export function errorWordsAtField(fault: ApiFault): string {
  return dictionaries?.wordsAtField(fault, currentLanguage()) ?? fault.message;
}
