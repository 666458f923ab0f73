// The certificates of a process. Every connection between processes on different machines is mutual TLS: both sides show a
// certificate of the one authority, and the common name in it says who calls.
import { readFileSync } from 'node:fs';

/** Certificates and key as PEM. */
export interface Tls {
  /** Of the authority that signed every certificate of the installation. */
  readonly ca: Buffer;
  /** Of this process; its common name is its name as a caller ("gateway"). */
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Reads the three files. Throws when one cannot be read. */
export function readTls(paths: { ca: string; cert: string; key: string }): Tls {
  return { ca: readFileSync(paths.ca), cert: readFileSync(paths.cert), key: readFileSync(paths.key) };
}
