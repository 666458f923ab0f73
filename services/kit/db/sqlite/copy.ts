// Copies a SQLite database as of one moment while another process writes to it.
import Database from 'better-sqlite3';
import { asText } from '../values.js';

/** How long to wait for a writer that blocks readers, as at a checkpoint after a crash. */
const busyMsMax = 30_000;

/**
 * Copies `from` to the new file `to`. Writers are not blocked, but their write-ahead log grows until the copy is complete. SQLite's backup API is
 * not used, because it starts again at each commit of another process. Returns the names of the schema's migrations.
 */
export function copySqlite(from: string, to: string): string[] {
  const source = new Database(from, { readonly: true, fileMustExist: true, timeout: busyMsMax });
  try {
    source.prepare('VACUUM INTO ?').run(to);
  } finally {
    source.close();
  }
  const copy = new Database(to, { readonly: true });
  try {
    const rows = copy.prepare('SELECT name FROM schema_migration ORDER BY name').all() as { name: unknown }[];
    return rows.map(({ name }) => asText(name));
  } finally {
    copy.close();
  }
}
