// Settings that keep values out of knex's messages, for both engines.

const nothing = (): void => undefined;

/**
 * With compiled SQL knex writes the bound values, which may be secret, into error messages, and its escaping throws on a
 * bigint (knex 3.3, lib/util/string.js), which hides the real error. The statement with its placeholders is enough.
 * Knex also prints the errors that it throws to standard output, outside of our log format.
 */
export const quietKnex = { compileSqlOnError: false, log: { debug: nothing, warn: nothing, error: nothing, deprecate: nothing } } as const;
