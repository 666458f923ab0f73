// Keeps a second process from using the same folder. The lock is the kernel's, through SQLite's own file locking, so
// it is released when the process ends, however it ends.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '#client/errors/app-error.js';
import { isRetryable } from '../errors.js';

/**
 * Locks a folder until the returned function is called. Raises failed_precondition when another process holds the lock; the
 * message names the setting that chooses the folder.
 */
export function lockFolder(folder: string, setting = 'TOLLGATE_DATA_DIR'): () => void {
  const database = new Database(join(folder, 'lock.db'), { timeout: 0 });
  try {
    // In this mode the first write lock is kept until the database is closed (https://sqlite.org/pragma.html#pragma_locking_mode).
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE; COMMIT');
  } catch (error) {
    database.close();
    if (!isRetryable(error)) throw error;
    throw new AppError('failed_precondition', `Another process works with ${folder}; stop it first, or choose another ${setting}.`, {
      cause: error,
    });
  }
  return () => database.close();
}
