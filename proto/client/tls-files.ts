// Reads certificate files again when they change, for a process that runs for longer than its certificate is valid.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { ofFile, readTls, type Tls, type TlsPaths } from './tls.js';

/** Where changes of certificates are logged. */
export interface TlsLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

/** Options of `watch`. */
export interface WatchTlsOptions {
  /** How often the files are read; every 10 s by default. */
  readonly intervalMs?: number;
  readonly log?: TlsLog;
}

const intervalMsDefault = 10_000;
const dayMs = 86_400_000;
/** A certificate that expires within this time is logged once a day. */
const expiryWarningMs = 14 * dayMs;
const silent: TlsLog = { info: () => undefined, warn: () => undefined };

/** Certificates in files. Connections that are open keep the certificates with which they were opened. */
export class TlsFiles implements Tls {
  private current: Tls;
  private readonly listeners = new Set<() => void>();
  private isFaulty = false;
  private warnedAtMs = Number.NEGATIVE_INFINITY;

  /** Reads the files. Throws when one cannot be used. */
  constructor(private readonly paths: TlsPaths) {
    this.current = readTls(paths);
    assertMatching(this.current, paths);
  }

  get ca(): Buffer {
    return this.current.ca;
  }

  get cert(): Buffer {
    return this.current.cert;
  }

  get key(): Buffer {
    return this.current.key;
  }

  /** When the certificate of this process expires, in epoch milliseconds. */
  get expiresAtMs(): number {
    return Date.parse(new X509Certificate(this.cert).validTo);
  }

  /** Reads the files every `intervalMs` from now on. The timer does not keep the process running. */
  watch({ intervalMs = intervalMsDefault, log = silent }: WatchTlsOptions = {}): this {
    this.warnOfExpiry(log);
    setInterval(() => {
      this.refresh(log);
      this.warnOfExpiry(log);
    }, intervalMs).unref();
    return this;
  }

  /**
   * Reads the files now. If one cannot be read, or only some of them have been replaced yet, the previous certificates stay in use until the
   * next read.
   */
  refresh(log: TlsLog = silent): void {
    let next: Tls;
    try {
      next = readTls(this.paths);
      if (next.ca.equals(this.ca) && next.cert.equals(this.cert) && next.key.equals(this.key)) {
        this.isFaulty = false;
        return;
      }
      assertMatching(next, this.paths);
    } catch (error) {
      if (!this.isFaulty)
        log.warn({ err: error, ...this.paths }, 'changed certificate files cannot be used; the previous ones stay in use');
      this.isFaulty = true;
      return;
    }
    this.isFaulty = false;
    this.warnedAtMs = Number.NEGATIVE_INFINITY;
    this.current = next;
    log.info({ cert: this.paths.cert, expires_at: new Date(this.expiresAtMs).toISOString() }, 'certificates were read again');
    for (const listener of this.listeners) listener();
  }

  /** Calls `listener` after each change. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private warnOfExpiry(log: TlsLog): void {
    const nowMs = Date.now();
    if (this.expiresAtMs - nowMs > expiryWarningMs || nowMs - this.warnedAtMs < dayMs) return;
    this.warnedAtMs = nowMs;
    log.warn(
      { cert: this.paths.cert, expires_at: new Date(this.expiresAtMs).toISOString() },
      `the certificate of this process ${this.expiresAtMs > nowMs ? 'expires soon' : 'has expired'}`,
    );
  }
}

/** Throws when the key is not that of the certificate, or OpenSSL cannot use a file. */
function assertMatching({ ca, cert, key }: Tls, paths: TlsPaths): void {
  const certificate = ofFile(paths.cert, () => new X509Certificate(cert));
  const privateKey = ofFile(paths.key, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) throw new Error('The key does not belong to the certificate.');
  createSecureContext({ ca, cert, key });
}
