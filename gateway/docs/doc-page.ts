// What a page of the docs is.

/** For whom pages are. */
export const audiences = {
  callers: 'Call models',
  owners: 'Manage an account',
  internal: 'Internal services',
  operators: 'Operate Tollgate',
} as const;

/** One of them. */
export type Audience = keyof typeof audiences;

/** A page. */
export interface DocPage {
  /** Its address below `/docs/`. */
  readonly name: string;
  readonly audience: Audience;
  /** The page in a list, if not by its title. */
  readonly menu?: string | undefined;
  /** One line for lists of pages and for search engines. */
  readonly description: string;
  /** As it is served at `/docs/<name>.md`, but for the placeholders. */
  readonly markdown: string;
  /** Whether lists of pages have it; the others are reached from a listed page and by the search. */
  readonly isListed: boolean;
}
