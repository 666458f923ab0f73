// A page of the docs.

/** The audiences of pages. */
export const audiences = {
  callers: 'Call models',
  owners: 'Manage an account',
  internal: 'Internal services',
  operators: 'Operate Tollgate',
} as const;

/** An audience. */
export type Audience = keyof typeof audiences;

/** A page. */
export interface DocPage {
  /** Its address below `/docs/`. */
  readonly name: string;
  readonly audience: Audience;
  /** The name of the page in a list, if it is not its title. */
  readonly menu?: string | undefined;
  /** One line for lists of pages and for search engines. */
  readonly description: string;
  /** Its heading, for a page that is generated only when it is first read. */
  readonly title?: string | undefined;
  /** Returns it as it is served at `/docs/<name>.md`, but for the placeholders. */
  markdown(): string;
  /** Whether lists of pages have it; the others are reached from a listed page and by the search. */
  readonly isListed: boolean;
}
