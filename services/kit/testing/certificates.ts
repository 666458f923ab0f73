// Certificates for tests, created by openssl at each run so that no key is ever part of the sources.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTls, type Tls } from '#client/tls.js';

/** An authority of one test run. */
export interface TestAuthority {
  /** Issues a certificate with this common name, valid for localhost and 127.0.0.1. */
  issue(commonName: string): Tls;
  /** Removes the files. */
  drop(): void;
}

/** Returns a new authority. Requires the openssl program. */
export function createTestAuthority(): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-ca-'));
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...newKey, '-days', '1', '-subj', '/CN=test authority', '-keyout', at('ca.key'), '-out', at('ca.pem'));
  return {
    issue(commonName) {
      const [key, cert] = [at(`${commonName}.key`), at(`${commonName}.pem`)];
      const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
      openssl(
        'req',
        '-x509',
        ...newKey,
        '-CA',
        at('ca.pem'),
        '-CAkey',
        at('ca.key'),
        '-days',
        '1',
        '-subj',
        `/CN=${commonName}`,
        '-addext',
        names,
        '-addext',
        'extendedKeyUsage=clientAuth,serverAuth',
        '-keyout',
        key,
        '-out',
        cert,
      );
      return readTls({ ca: at('ca.pem'), cert, key });
    },
    drop: () => rmSync(folder, { recursive: true, force: true }),
  };
}
