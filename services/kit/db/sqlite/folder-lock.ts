// Keeps a second process from using the same folder. The lock is the kernel's, through SQLite's own file locking, so
// it is released when the process ends, however it ends.
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '#client/errors/app-error.js';
import { isRetryable } from '../errors.js';

/**
 * Locks a folder until the returned function is called. Raises failed_precondition when another process holds the lock; the
 * message names the setting that chooses the folder.
 */
export function lockFolder(folder: string, setting = 'TOLLGATE_DATA_DIR'): () => void {
  const path = join(folder, 'lock.db');
  createPrivately(path);
  const database = new Database(path, { timeout: 0 });
  try {
    // In this mode the first write lock is kept until the database is closed (https://sqlite.org/pragma.html#pragma_locking_mode).
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE; COMMIT');
  } catch (error) {
    database.close();
    if (!isRetryable(error)) throw error;
    throw new AppError('failed_precondition', `Another process is using ${folder}; stop it first, or choose another ${setting}.`, {
      cause: error,
    });
  }
  return () => database.close();
}

/** Creates the file if there is none. A user who may read it could lock it, and the command line does not have the umask of the services. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // An existing file is not opened: closing it would release the locks that this process holds on it
    // (https://sqlite.org/howtocorrupt.html, section 2.2).
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
