// What both engines tell knex about its messages.

const nothing = (): void => undefined;

/**
 * With compiled SQL knex writes the bound values into error messages, where secrets have no place, and its escaping throws on a
 * bigint (knex 3.3, lib/util/string.js) so that the true error is lost. The statement with its placeholders says enough.
 * Knex prints what it also throws, to standard output and not as our log lines.
 */
export const quietKnex = { compileSqlOnError: false, log: { debug: nothing, warn: nothing, error: nothing, deprecate: nothing } } as const;
