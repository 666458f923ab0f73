// Parses the text of a statement for spans and metrics. Pure.

/** Returns what a statement does, and the first table that it names. */
export function statementOf(sql: string): { operation: string; table: string | undefined } {
  const operation = /^\W*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? 'SQL';
  const table = /\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+[`"]?(\w+)/i.exec(sql)?.[1];
  return { operation, table };
}
