// The language that a public page is shown in: the one that its address names, else the browser's. Pure.

/** A language of the pages, as HTML names it (BCP 47). */
export type Language = 'en' | 'zh-CN';

/** All of them; the first is for whoever reads none. */
export const languages: readonly Language[] = ['en', 'zh-CN'];

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** What `?lang=…` names; undefined where that is nothing, or none of ours. */
export function readLanguage(query: Query): Language | undefined {
  const [named] = [query['lang']].flat();
  return languages.find((language) => language === named);
}

/** How a page speaks, and its way to the other language. */
export interface Speech {
  readonly language: Language;
  /** What links to other pages end in, so that a language that was chosen stays: empty, or `?lang=…`. */
  readonly suffix: string;
  /** The address of this page in the other language, without its path. */
  readonly otherHref: string;
}

/** The speech of a page at an address with this query. `preferred`: what the browser reads best of `languages`. */
export function speechOf(query: Query, preferred: Language): Speech {
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
