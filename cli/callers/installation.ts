// Creates the certificates of an installation's own processes, each in a folder of its own that can be mounted into its container or become a
// Kubernetes Secret.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { namesAll, namesOf, writePair } from '#kit/tls/certificate-files.js';
import { serviceNames } from '#rules/services.js';

/** Which certificates to create, and where. */
export interface InstallationOptions {
  /** Contains the folder `authority` and one for each process. */
  readonly folder: string;
  /** The names at which a service is found, with {service} in place of its name. */
  readonly hosts: readonly string[];
  readonly days: number;
  /** Also replaces certificates that are still valid. */
  readonly renew: boolean;
}

/** A process and whether its certificate was created, rather than kept. */
export interface ProcessCertificate {
  readonly process: string;
  readonly folder: string;
  readonly isNew: boolean;
}

/**
 * Creates the authority if there is none, and a certificate for each process whose certificate is missing or lacks one of its names. A new certificate
 * keeps the names of the previous one. Each folder then holds tls.crt, tls.key and ca.crt.
 */
export async function createInstallationCertificates({ folder, hosts, days, renew }: InstallationOptions): Promise<ProcessCertificate[]> {
  const { createAuthority, issueCertificate } = await import('#kit/tls/authority.js');
  const authorityPaths = { cert: join(folder, 'authority', 'ca.crt'), key: join(folder, 'authority', 'ca.key') };
  if (!existsSync(authorityPaths.cert)) writePair(authorityPaths, await createAuthority());
  const authority = { cert: readFileSync(authorityPaths.cert, 'utf8'), key: readFileSync(authorityPaths.key, 'utf8') };
  const created: ProcessCertificate[] = [];
  for (const process of [...serviceNames, 'gateway', 'operator']) {
    const isService = (serviceNames as readonly string[]).includes(process);
    const names = isService ? ['localhost', '127.0.0.1', ...hosts.map((host) => host.replaceAll('{service}', process))] : [];
    const own = join(folder, process);
    const paths = { cert: join(own, 'tls.crt'), key: join(own, 'tls.key') };
    const present = existsSync(paths.cert) ? readFileSync(paths.cert) : undefined;
    const isNew = renew || present === undefined || !namesAll(present, names);
    if (isNew) {
      // Callers that use a previous name would refuse a certificate without it.
      const all = [...new Set([...names, ...(present === undefined ? [] : namesOf(present))])];
      writePair(paths, await issueCertificate(authority, { commonName: process, days, isClient: true, hosts: all }));
    }
    const caPath = join(own, 'ca.crt');
    if (isNew || !existsSync(caPath)) writeFileSync(caPath, authority.cert, { mode: 0o644 });
    created.push({ process, folder: own, isNew });
  }
  return created;
}
