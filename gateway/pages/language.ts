// The language that a public page is shown in: the one in its address, otherwise the browser's. Pure.

/** A language of the pages, as HTML names it (BCP 47). */
export type Language = 'en' | 'zh-CN';

/** All languages; the first is the fallback. */
export const languages: readonly Language[] = ['en', 'zh-CN'];

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Returns the language in `?lang=…`, or undefined if it is missing or not supported. */
export function readLanguage(query: Query): Language | undefined {
  const [named] = [query['lang']].flat();
  return languages.find((language) => language === named);
}

/** The language of a page, and the link to the other one. */
export interface PageLanguage {
  readonly language: Language;
  /** The suffix of links to other pages, which keeps a chosen language: empty, or `?lang=…`. */
  readonly suffix: string;
  /** The address of this page in the other language, without its path. */
  readonly otherHref: string;
}

/** Returns the language of a page at an address with this query. `preferred` is the browser's preference among `languages`. */
export function pageLanguageOf(query: Query, preferred: Language): PageLanguage {
  const chosen = readLanguage(query);
  const language = chosen ?? preferred;
  const params = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) for (const value of [values ?? []].flat()) params.append(name, value);
  params.set(
    'lang',
    languages.find((other) => other !== language)!,
  );
  return { language, suffix: chosen === undefined ? '' : `?lang=${chosen}`, otherHref: `?${params}` };
}
