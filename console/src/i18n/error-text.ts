// Refusals of the API in the reader's language. English is the API's own; what tells them in Chinese is fetched with the first one.
import { currentLanguage } from './text.js';

/** A refusal, of which the ApiError of `api/client.ts` is one. */
interface Refusal {
  readonly code: string;
  readonly field: string | null;
  readonly message: string;
}

let chinese: typeof import('./errors.js') | undefined;

/** Whether there is something to fetch before refusals can be told in the language in use. */
export const areErrorsMissing = (): boolean => currentLanguage() === 'zh-CN' && chinese === undefined;

/** Fetches what refusals are told by in the language in use. Without it they are told as the API does. */
export async function fetchErrors(): Promise<void> {
  if (areErrorsMissing()) chinese = await import('./errors.js').catch(() => undefined);
}

/** A refusal in the language in use, and the API's own sentence where that says more. */
export function errorWords(refusal: Refusal): { readonly text: string; readonly detail: string | undefined } {
  if (currentLanguage() === 'zh-CN' && chinese !== undefined) return chinese.inChinese(refusal);
  return { text: refusal.message, detail: undefined };
}

/** A refusal beside the field that it is about, without the field's name in front. */
export function errorWordsAtField(refusal: Refusal): string {
  if (currentLanguage() === 'zh-CN' && chinese !== undefined) return chinese.inChineseAtField(refusal);
  return refusal.field !== null && refusal.message.startsWith(`${refusal.field}: `)
    ? refusal.message.slice(refusal.field.length + 2)
    : refusal.message;
}
