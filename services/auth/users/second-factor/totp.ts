// Codes of authenticator apps (RFC 6238), with the parameters that every app supports: SHA-1, six digits, 30 seconds. Pure.
import { Secret, TOTP } from 'otpauth';

const stepMs = 30_000;
/** RFC 4226, section 4: the secret should have 160 bits. */
const secretBytes = 20;

/** Returns a new secret in Base32. */
export function newTotpSecret(): string {
  return new Secret({ size: secretBytes }).base32;
}

/** Returns the URI that apps read from a QR code (https://github.com/google/google-authenticator/wiki/Key-Uri-Format). */
export function totpUri(secret: string, issuer: string, label: string): string {
  return new TOTP({ secret, issuer, label }).toString();
}

/**
 * Returns the step of a code, the number of 30-second intervals since 1970, or undefined for a code that is wrong now. The previous and the next
 * step are accepted, because the clocks of phones drift (RFC 6238, section 5.2).
 */
export function stepOfCode(secret: string, code: string, nowMs: number): number | undefined {
  const token = code.replace(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return undefined;
  const drift = new TOTP({ secret }).validate({ token, timestamp: nowMs, window: 1 });
  return drift === null ? undefined : Math.floor(nowMs / stepMs) + drift;
}
