import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { listen } from '../testing/local-server.js';
import { createAuthority, issueCertificate, type Pair } from './authority.js';
import { type CertificateFiles, ensureAuthority, ensureCertificate, writePair } from './certificate-files.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (path: string): X509Certificate => new X509Certificate(readFileSync(path));
const server = (name: string, hosts = ['localhost', '127.0.0.1']): Promise<CertificateFiles> =>
  ensureCertificate(folder, name, { isClient: true, hosts });
const pairOf = ({ cert, key }: CertificateFiles): Pair => ({ cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') });

/** Returns the outcome of a mutual TLS connection between the two: "ok", or the error code. */
async function handshake(ofServer: Pair, ofClient: Pair, servername = 'localhost'): Promise<string> {
  const { cert: ca } = await ensureAuthority(folder);
  const listening = createServer({ ...ofServer, ca, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' });
  listening.on('secureConnection', (socket) => socket.end('welcome'));
  const port = await listen(listening);
  try {
    return await new Promise<string>((resolve) => {
      const fault = (error: NodeJS.ErrnoException): void => resolve(error.code ?? error.message);
      listening.on('tlsClientError', fault);
      connect({ ...ofClient, ca, port, host: '127.0.0.1', servername })
        .on('error', fault)
        .on('data', () => resolve('ok'));
    });
  } finally {
    listening.close();
  }
}

describe('the certificate of a process', () => {
  it('is issued by the authority, names the process and its hosts, and is kept', async () => {
    const files = await server('gateway');
    const certificate = read(files.cert);
    expect(certificate.verify(read(files.ca).publicKey)).toBe(true);
    expect(certificate.checkIssued(read(files.ca))).toBe(true);
    expect(certificate.subject).toBe('CN=gateway');
    expect([certificate.checkHost('localhost'), certificate.checkIP('127.0.0.1')]).toEqual(['localhost', '127.0.0.1']);
    expect(await server('gateway')).toEqual(files);
    expect(read(files.cert).fingerprint256).toBe(certificate.fingerprint256);
    expect([files.key, join(folder, 'ca.key')].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
  });

  it('is issued again when the process has another host', async () => {
    const files = await server('gateway');
    const before = read(files.cert).fingerprint256;
    await server('gateway', ['localhost', 'tollgate.example.com']);
    expect(read(files.cert).fingerprint256).not.toBe(before);
    expect(read(files.cert).checkHost('tollgate.example.com')).toBe('tollgate.example.com');
  });

  it('lets clients and servers of the installation connect, under the server name only', async () => {
    const [one, other] = [pairOf(await server('ledger')), pairOf(await server('metering'))];
    expect(await handshake(one, other)).toBe('ok');
    expect(await handshake(one, other, 'elsewhere.example.com')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('does not let a caller act as a server or as an authority', async () => {
    const ledger = pairOf(await server('ledger'));
    const caller = await issueCertificate(await ensureAuthority(folder), {
      commonName: 'billing-team',
      days: 1,
      isClient: true,
      hosts: [],
    });
    expect(await handshake(ledger, caller)).toBe('ok');
    expect(await handshake(caller, ledger)).not.toBe('ok');
    const forged = await issueCertificate(caller, { commonName: 'operator', days: 1, isClient: true, hosts: [] });
    expect(await handshake(ledger, forged)).not.toBe('ok');
    const withChain = { cert: `${forged.cert}${caller.cert}`, key: forged.key };
    expect(await handshake(ledger, withChain)).not.toBe('ok');
  });

  it('has the fingerprint that a connection shows', async () => {
    const issued = await issueCertificate(await ensureAuthority(folder), {
      commonName: 'billing-team',
      days: 30,
      isClient: true,
      hosts: [],
    });
    const certificate = new X509Certificate(issued.cert);
    expect(certificate.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(issued.sha256.toString('hex'));
    expect(new Date(certificate.validTo).getTime()).toBe(issued.expiresAtMs);
  });

  it('is issued by the authority to which the key belongs, while a bundle also has the next one', async () => {
    const { cert, key } = await ensureAuthority(folder);
    const next = await createAuthority();
    writePair({ cert: join(folder, 'ca.pem'), key: join(folder, 'ca.key') }, { cert: `${next.cert}${cert}`, key });
    expect(read((await server('ledger')).cert).verify(new X509Certificate(cert).publicKey)).toBe(true);
    writePair({ cert: join(folder, 'ca.pem'), key: join(folder, 'ca.key') }, { cert: `${cert}${next.cert}`, key: next.key });
    expect(read((await server('metering')).cert).verify(new X509Certificate(next.cert).publicKey)).toBe(true);
  });

  it('is not issued while the key belongs to an authority that was replaced', async () => {
    const { key } = await ensureAuthority(folder);
    writePair({ cert: join(folder, 'ca.pem'), key: join(folder, 'ca.key') }, { cert: (await createAuthority()).cert, key });
    await expect(server('ledger')).rejects.toThrow('belongs to no certificate in the file of the authority');
  });
});
