// Reads the SQL statements of a docs page, so that tests run the same statements as operators.
import { readFileSync } from 'node:fs';

/** Returns the statements about a table in the page's ```sql blocks, in order. */
export function statementsOf(page: string, table: string): string[] {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/```sql\n([^`]*)```/g)].map(([, block]) => block!);
  return blocks
    .flatMap((block) => block.split(';\n'))
    .map((statement) => statement.trim())
    .filter((statement) => statement.startsWith(`ALTER TABLE ${table} `));
}
