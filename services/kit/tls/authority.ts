// The certificate authority of an installation, which issues a certificate to each process and to each caller. Loaded only where
// certificates are issued, since the library takes a while to load.
import 'reflect-metadata';
import { createHash, createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { dayMs } from '../clock.js';
import { ConfigError } from '../config/settings.js';

/** A certificate and its private key as PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate that was issued. */
export interface IssuedCertificate extends Pair {
  /** SHA-256 of the certificate in DER form. */
  readonly sha256: Buffer;
  readonly expiresAtMs: number;
}

/** Options of `issueCertificate`. */
export interface IssueOptions {
  readonly commonName: string;
  readonly days: number;
  /** Whether it identifies a caller (extended key usage clientAuth). */
  readonly isClient: boolean;
  /** The names and addresses of the server that it identifies (serverAuth); empty: none. */
  readonly hosts: readonly string[];
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const authorityDays = 3650;
// Backdated, so that a machine whose clock is behind accepts a certificate that was just issued.
const backdatedMs = 300_000;

/** Creates an authority. */
export async function createAuthority(): Promise<Pair> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: [{ CN: ['Tollgate authority'] }],
    ...validFor(authorityDays),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      // No intermediate authorities: no process can issue a certificate for another name.
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pemOf(certificate), key: await keyPemOf(keys.privateKey) };
}

/**
 * Issues a certificate with a new key, signed by the authority of the bundle to which the key belongs. Raises ConfigError when the key belongs to none of
 * them.
 */
export async function issueCertificate(authority: Pair, { commonName, days, isClient, hosts }: IssueOptions): Promise<IssuedCertificate> {
  const issuer = issuerOf(authority);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(authority.key), algorithm, false, ['sign']);
  const keys = await newKeys();
  const usages = [...(isClient ? [x509.ExtendedKeyUsage.clientAuth] : []), ...(hosts.length > 0 ? [x509.ExtendedKeyUsage.serverAuth] : [])];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject: [{ CN: [commonName] }],
    issuer: issuer.subject,
    ...validFor(days),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usages),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(hosts.length > 0
        ? [new x509.SubjectAlternativeNameExtension(hosts.map((host) => ({ type: isIP(host) === 0 ? 'dns' : 'ip', value: host })))]
        : []),
    ],
  });
  return {
    cert: pemOf(certificate),
    key: await keyPemOf(keys.privateKey),
    sha256: createHash('sha256').update(Buffer.from(certificate.rawData)).digest(),
    expiresAtMs: certificate.notAfter.getTime(),
  };
}

function issuerOf({ cert, key }: Pair): x509.X509Certificate {
  const signingKey = createPrivateKey(key);
  const der = x509.PemConverter.decode(cert).find((one) => new X509Certificate(Buffer.from(one)).checkPrivateKey(signingKey));
  if (der === undefined)
    throw new ConfigError([
      'The private key of the certificate authority (ca.key, or the file of TOLLGATE_TLS_CA_KEY) belongs to no certificate in the file of the authority; ' +
        "replace it with the current authority's key",
    ]);
  return new x509.X509Certificate(der);
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

/** Returns 127 random bits as a positive number. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes.toString('hex');
}

function validFor(days: number): { notBefore: Date; notAfter: Date } {
  const nowMs = Math.floor(Date.now() / 1000) * 1000;
  return { notBefore: new Date(nowMs - backdatedMs), notAfter: new Date(nowMs + days * dayMs) };
}

function pemOf(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem').trim()}\n`;
}

async function keyPemOf(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY').trim()}\n`;
}
