// The key under which secrets are encrypted at rest, in a file of its own: made once, readable by its owner alone.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { secretKeyBytes } from './secret-box.js';

/** The 32 bytes of the key file, which is made on first use. Raises an Error when the file holds something else. */
export function ensureSecretKey(path: string): Buffer {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    // "wx": of two processes that start together one makes the file and the other reads it below.
    try {
      writeFileSync(path, `${randomBytes(secretKeyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
  if (key.length !== secretKeyBytes)
    throw new Error(`${path} does not hold a key of ${secretKeyBytes} bytes in base64; restore it from a backup.`);
  return key;
}
