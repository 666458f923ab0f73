// Statements that a page of the docs tells operators to run, so that tests run the same.
import { readFileSync } from 'node:fs';

/** The statements about a table in the page's ```sql blocks, in their order. */
export function statementsOf(page: string, table: string): string[] {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/```sql\n([^`]*)```/g)].map(([, block]) => block!);
  return blocks
    .flatMap((block) => block.split(';\n'))
    .map((statement) => statement.trim())
    .filter((statement) => statement.startsWith(`ALTER TABLE ${table} `));
}
