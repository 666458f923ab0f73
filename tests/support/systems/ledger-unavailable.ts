// Makes the ledger unavailable for a while, in both modes.
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { pidsOf } from './processes.js';
import type { System } from './system.js';

/** Keeps the ledger from returning balances until the returned function is called. */
export function suspendLedger(system: System): () => void {
  if (system.mode === 'distributed') {
    const pid = pidsOf(system).ledger;
    process.kill(pid, 'SIGSTOP');
    return () => void process.kill(pid, 'SIGCONT');
  }
  const rename = (from: string, to: string): void => {
    const database = new Database(join(system.dataDir, 'books.db'));
    database.exec(`ALTER TABLE ${from} RENAME TO ${to}`);
    database.close();
  };
  rename('bucket', 'away');
  return () => rename('away', 'bucket');
}
