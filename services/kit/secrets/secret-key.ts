// The file with the keys that encrypt secrets at rest: one key per line, in base64. The first encrypts; the others only decrypt what was encrypted
// with them, until a rotation has encrypted it again with the first.
import { createHash, randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '#client/errors/app-error.js';

/** Length of a key. */
const secretKeyBytes = 32;
const idChars = 8;

/** A key and its public name. */
export interface SecretKey {
  /** Eight hexadecimal digits that follow from the key and reveal nothing about it. */
  readonly id: string;
  readonly key: Buffer;
}

/** Returns a key with its id. */
export function secretKey(key: Buffer): SecretKey {
  return { id: createHash('sha256').update('tollgate secret key ').update(key).digest('hex').slice(0, idChars), key };
}

/** Reports whether a text has the form of the id of a key. */
export function isSecretKeyId(text: string): boolean {
  return text.length === idChars && /^[0-9a-f]*$/.test(text);
}

/** Returns a new key. */
export function newSecretKey(): SecretKey {
  return secretKey(randomBytes(secretKeyBytes));
}

/** Returns the keys in a file, or undefined when there is no file. Raises failed_precondition when it cannot be read or a line is not a key. */
export function readSecretKeys(path: string): readonly SecretKey[] | undefined {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new AppError(
      'failed_precondition',
      `${path} cannot be read (${code ?? message}). It must be a file that the user of this process can read; restore it from your copy if it is lost.`,
      { cause: error },
    );
  }
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  const keys = lines.map((line) => Buffer.from(line.trim(), 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length !== secretKeyBytes)) {
    throw new AppError(
      'failed_precondition',
      `${path} does not hold a key of ${secretKeyBytes} bytes in base64 per line. Restore the file from your copy.`,
    );
  }
  return keys.map(secretKey);
}

/** Replaces the keys in a file, which only its owner can read: the same one, if root replaces them for a process that runs as another user. */
export function writeSecretKeys(path: string, keys: readonly SecretKey[]): void {
  const temporary = writeTemporary(path, keys);
  const present = statSync(path, { throwIfNoEntry: false });
  if (present !== undefined && process.getuid?.() === 0) chownSync(temporary, present.uid, present.gid);
  renameSync(temporary, path);
  flushFolder(path);
}

/** Creates a file with one new key, unless another process has just created it. */
export function createSecretKeys(path: string): void {
  const temporary = writeTemporary(path, [newSecretKey()]);
  try {
    // Unlike a rename, it fails when the file exists.
    linkSync(temporary, path);
    flushFolder(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary);
  }
}

/** Makes the entry of a file in its folder durable: after a power failure, secrets sealed with its keys could otherwise not be read any more. */
function flushFolder(path: string): void {
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function writeTemporary(path: string, keys: readonly SecretKey[]): string {
  mkdirSync(dirname(path), { recursive: true });
  // Processes in different containers may have the same id, and the file of another one may be linked to the path already.
  const temporary = `${path}.${randomBytes(8).toString('hex')}.part`;
  writeFileSync(temporary, keys.map(({ key }) => `${key.toString('base64')}\n`).join(''), { mode: 0o600, flush: true });
  return temporary;
}
