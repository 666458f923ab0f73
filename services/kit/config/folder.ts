// Creates the folders that settings name.
import { accessSync, constants, mkdirSync } from 'node:fs';
import { ConfigError } from './settings.js';

/** Creates the folder of a setting unless it exists; only its owner can read it. Raises ConfigError when it cannot be written to. */
export function createFolder(env: string, path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError([`${env} must be a folder that this process can write to: ${path} cannot be used (${code ?? message})`]);
  }
}
