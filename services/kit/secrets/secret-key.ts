// The key that encrypts secrets at rest, in its own file: created once, readable only by its owner.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { secretKeyBytes } from './secret-box.js';

/** Returns the 32 bytes of the key file, which is created on first use. Raises an Error when the file contains something else. */
export function ensureSecretKey(path: string): Buffer {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    // "wx": of two processes that start together one creates the file and the other reads it below.
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
