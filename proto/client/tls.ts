// The certificates of a process. Every connection between processes on different machines uses mutual TLS: both sides present a
// certificate of the same authority, and the client's certificate identifies the caller.
import { readFileSync } from 'node:fs';

/** Certificates and key as PEM. */
export interface Tls {
  /** The certificate of the authority that signed every certificate of the installation. */
  readonly ca: Buffer;
  /** The certificate of this process; its common name is its name as a caller ("gateway"). */
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** The files of certificates and key. */
export interface TlsPaths {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Reads the three files. Throws when one cannot be read. */
export function readTls(paths: TlsPaths): Tls {
  const read = (path: string): Buffer => ofFile(path, () => readFileSync(path));
  return { ca: read(paths.ca), cert: read(paths.cert), key: read(paths.key) };
}

/** Returns the result of `use`. The messages of errors that it throws are prefixed with the path of the file. */
export function ofFile<T>(path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}
