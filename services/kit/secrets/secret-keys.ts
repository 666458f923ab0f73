// The keys of a process: those in its key file, which it reads again when the file changes.
import { statSync } from 'node:fs';
import { AppError } from '#client/errors/app-error.js';
import { createSecretKeys, readSecretKeys, type SecretKey, secretKey } from './secret-key.js';

/** Provides the keys that encrypt secrets. */
export interface SecretKeySource {
  /** Returns the key that encrypts. Raises failed_precondition when there is none. */
  current(): SecretKey;
  /** Returns the key with this id, or undefined. */
  find(id: string): Buffer | undefined;
  /** Returns all ids, the current one first. */
  ids(): readonly string[];
  /** Where the keys are, for messages. */
  readonly place: string;
  /** Creates the first key when there is none. */
  create(): void;
  /** Reads the keys again if they may have changed. Keeps the last ones, and raises failed_precondition, when they cannot be read. */
  reload(): void;
}

/** The minimum time between two reads of the file for an unknown key. */
const rereadMsMin = 1000;

/** The keys in a file. */
export class SecretKeyFile implements SecretKeySource {
  private keys: readonly SecretKey[];
  private version: string;
  private rereadAtMs = 0;

  /** Raises failed_precondition when the file holds anything other than keys. It may be missing. */
  constructor(readonly place: string) {
    this.version = versionOf(place);
    this.keys = readSecretKeys(place) ?? [];
  }

  current(): SecretKey {
    const [key] = this.keys;
    if (key === undefined) throw new AppError('failed_precondition', `The secret key file ${this.place} does not exist.`);
    return key;
  }

  find(id: string): Buffer | undefined {
    const known = this.known(id);
    if (known !== undefined || performance.now() < this.rereadAtMs) return known;
    // Another process may have begun to use a key that was added to the file.
    this.rereadAtMs = performance.now() + rereadMsMin;
    this.reload();
    return this.known(id);
  }

  ids(): readonly string[] {
    return this.keys.map(({ id }) => id);
  }

  create(): void {
    createSecretKeys(this.place);
    this.reload();
  }

  reload(): void {
    const version = versionOf(this.place);
    if (version === this.version) return;
    this.keys = readSecretKeys(this.place) ?? this.keys;
    this.version = version;
  }

  private known(id: string): Buffer | undefined {
    return this.keys.find((each) => each.id === id)?.key;
  }
}

/** Changes whenever the file is replaced or written. */
function versionOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? '' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}

/** Returns keys that never change, the current one first; for tests. */
export function fixedSecretKeys(...keys: readonly Buffer[]): SecretKeySource {
  const all = keys.map(secretKey);
  return {
    place: 'memory',
    current: () => all[0]!,
    find: (id) => all.find((each) => each.id === id)?.key,
    ids: () => all.map(({ id }) => id),
    create: () => undefined,
    reload: () => undefined,
  };
}
