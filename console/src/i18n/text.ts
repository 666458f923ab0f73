// Texts in both languages. A dictionary has one object per language; the compiler checks that no text is missing.
import { storedChoice } from '../format/stored-choice.js';

/** The languages of the console. */
const languages = ['en', 'zh-CN'] as const;
export type Language = (typeof languages)[number];

type Texts = Readonly<Record<string, string | ((values: never) => string)>>;

/** Both languages of one area. Texts with values are functions of one object. */
export interface Dictionary<T extends Texts> {
  readonly en: T;
  readonly 'zh-CN': T;
}

/** Creates a dictionary. The second language must have exactly the texts of the first. */
export function dictionary<T extends Texts>(en: T, zh: { readonly [K in keyof T]: T[K] extends string ? string : T[K] }): Dictionary<T> {
  return { en, 'zh-CN': zh as T };
}

const choice = storedChoice<Language>('tollgate.language', languages, () =>
  navigator.languages.some((each, index) => index === 0 && each.toLowerCase().startsWith('zh')) ? 'zh-CN' : 'en',
);
document.documentElement.lang = choice.get();

/** The language in use. */
export const useLanguage = choice.use;

/** Returns the language in use, outside of components. */
export const currentLanguage = (): Language => choice.get();

/** Sets the language. */
export function setLanguage(language: Language): void {
  choice.set(language);
  document.documentElement.lang = language;
}

/** The texts of a dictionary in the language in use. */
export function useText<T extends Texts>(texts: Dictionary<T>): T {
  return texts[useLanguage()];
}
