import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CertificateFiles, ensureCertificate } from './certificates.js';

let folder: string;
let gateway: CertificateFiles;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  gateway = ensureCertificate(folder, 'gateway');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (path: string): X509Certificate => new X509Certificate(readFileSync(path));

describe('the certificate of a process', () => {
  it('is of the authority, names the process, and is kept', () => {
    const certificate = read(gateway.cert);
    expect(certificate.checkIssued(read(gateway.ca))).toBe(true);
    expect(certificate.subject).toBe('CN=gateway');
    expect(certificate.checkHost('localhost')).toBe('localhost');
    expect(ensureCertificate(folder, 'gateway')).toEqual(gateway);
    expect(read(gateway.cert).fingerprint256).toBe(certificate.fingerprint256);
  });

  it('makes nobody an authority: a process cannot name itself operator', () => {
    expect(read(gateway.cert).ca).toBe(false);
    const forged = join(folder, 'forged.pem');
    const parameters = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      '/CN=operator',
      '-keyout',
      join(folder, 'forged.key'),
    ];
    execFileSync('openssl', ['req', '-x509', ...parameters, '-CA', gateway.cert, '-CAkey', gateway.key, '-out', forged], { stdio: 'pipe' });
    const verify = (path: string): string =>
      execFileSync('openssl', ['verify', '-CAfile', gateway.ca, '-untrusted', gateway.cert, path], { stdio: 'pipe', encoding: 'utf8' });
    expect(verify(gateway.cert)).toContain('OK');
    expect(() => verify(forged)).toThrow();
  });
});
