// Creates folders that settings and commands name.
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigError } from './settings.js';

/** Creates the folder of a setting unless it exists; only its owner can read it. Raises ConfigError when it cannot be written to. */
export function createFolder(env: string, path: string): void {
  try {
    createFolders(path, 0o700);
    // With "/.", a file is refused.
    accessSync(`${path}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError([`${env} must be a folder that this process can write to: ${path} cannot be used (${code ?? message})`]);
  }
}

/** Creates a folder, and those above it that are missing. */
export function createFolders(path: string, mode: number): void {
  // Node's `recursive` never returns if a file system answers ENOENT although the parent exists, as /proc does.
  const missing: string[] = [];
  for (let each = resolve(path); !existsSync(each); each = dirname(each)) missing.unshift(each);
  for (const each of missing) {
    try {
      mkdirSync(each, { mode });
    } catch (error) {
      // Another process may have created it in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
