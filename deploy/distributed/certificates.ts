// The certificates of a distributed Tollgate on one machine: an authority of its own and a certificate for each process, whose
// common name is the process's name. Production brings its own (cert-manager, Vault); the processes cannot tell.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Files of one process's certificate, for TOLLGATE_TLS_CA, TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY. */
export interface CertificateFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const validDays = 3650;
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', String(validDays)];
// Unless told otherwise openssl makes authorities of all: then each process could certify itself to be any other, the operator too.
const authority = 'basicConstraints=critical,CA:TRUE,pathlen:0';
const noAuthority = 'basicConstraints=critical,CA:FALSE';

/** The files for a process named `commonName`, made on first use. Raises an Error when the openssl program is missing or fails. */
export function ensureCertificate(folder: string, commonName: string): CertificateFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const at = (name: string): string => join(folder, name);
  const [ca, caKey, cert, key] = [at('ca.pem'), at('ca.key'), at(`${commonName}.pem`), at(`${commonName}.key`)];
  if (!existsSync(ca))
    openssl('req', '-x509', ...newKey, '-subj', '/CN=Tollgate authority', '-addext', authority, '-keyout', caKey, '-out', ca);
  if (!existsSync(cert)) {
    const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-CA',
      ca,
      '-CAkey',
      caKey,
      '-subj',
      `/CN=${commonName}`,
      '-addext',
      names,
      '-addext',
      noAuthority,
      '-keyout',
      key,
      '-out',
      cert,
    );
  }
  return { ca, cert, key };
}

function openssl(...args: string[]): void {
  try {
    execFileSync('openssl', args, { stdio: 'pipe' });
  } catch (error) {
    throw new Error('The certificates could not be made; is the openssl program installed (Debian package openssl)?', { cause: error });
  }
}
