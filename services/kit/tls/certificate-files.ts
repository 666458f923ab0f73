// Certificates in a folder of the installation: its own authority, and a certificate for each process, whose common name is the process's
// name. Production installations provide their own (cert-manager, Vault); to the processes there is no difference.
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { createFolders } from '../config/folder.js';
import type { Pair } from './authority.js';

/** Files of one process's certificate, for TOLLGATE_TLS_CA, TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY. */
export interface CertificateFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** The intended use of a process's certificate. */
export interface CertificateUse {
  /** Whether the process calls others. */
  readonly isClient: boolean;
  /** The names and addresses at which others reach it; empty: it is not a server. */
  readonly hosts: readonly string[];
}

const processDays = 3650;

/** Returns the certificate and key of the folder's authority, created on first use. */
export async function ensureAuthority(folder: string): Promise<Pair> {
  const [cert, key] = [join(folder, 'ca.pem'), join(folder, 'ca.key')];
  if (!existsSync(cert)) {
    const { createAuthority } = await import('./authority.js');
    const created = await createAuthority();
    writePair({ cert, key }, created);
  }
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

/**
 * Returns the files for a process of this name. They are created on first use, and again when the process has a host that they do not name.
 */
export async function ensureCertificate(folder: string, commonName: string, use: CertificateUse): Promise<CertificateFiles> {
  const files = { ca: join(folder, 'ca.pem'), cert: join(folder, `${commonName}.pem`), key: join(folder, `${commonName}.key`) };
  const authority = await ensureAuthority(folder);
  if (existsSync(files.cert) && namesAll(readFileSync(files.cert), use.hosts)) return files;
  const { issueCertificate } = await import('./authority.js');
  writePair(files, await issueCertificate(authority, { commonName, days: processDays, ...use }));
  return files;
}

/**
 * Writes a certificate and its key over existing files; only the owner can read the key. The certificate is written last: when it exists, both
 * files do.
 */
export function writePair(paths: { readonly cert: string; readonly key: string }, pair: Pair): void {
  createFolders(dirname(paths.cert), 0o700);
  replaceFile(paths.key, pair.key, 0o600);
  replaceFile(paths.cert, pair.cert, 0o644);
}

function replaceFile(path: string, text: string, mode: number): void {
  const written = `${path}.new`;
  writeFileSync(written, text, { mode });
  renameSync(written, path);
}

/** Returns the host names and addresses in a certificate. */
export function namesOf(pem: Buffer): string[] {
  const { subjectAltName = '' } = new X509Certificate(pem);
  return [...subjectAltName.matchAll(/(?:DNS|IP Address):([^,]+)/g)].map(([, name]) => name!);
}

/** Reports whether a certificate names all of these hosts. */
export function namesAll(pem: Buffer, hosts: readonly string[]): boolean {
  const certificate = new X509Certificate(pem);
  return hosts.every(
    (host) => (isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)) !== undefined,
  );
}
