// How a webhook's requests are signed, so that the receiver can verify that they come from us. Pure.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The header that carries the signature. */
export const signatureHeader = 'tollgate-signature';

/** How old a signature may be for receivers that verify it. */
const signatureToleranceSeconds = 300;

/** Returns "t=<seconds>,v1=<HMAC-SHA256 of '<seconds>.<body>' in hexadecimal>". */
export function signatureOf(body: string, secret: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  return `t=${seconds},v1=${digestOf(body, secret, seconds)}`;
}

/** Reports whether the header signs this body with this secret, at about this time. Receivers do this; here only tests do. */
export function isSigned(header: string, body: string, secret: string, nowMs: number): boolean {
  const match = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header);
  if (match === null) return false;
  const seconds = Number(match[1]);
  if (Math.abs(nowMs / 1000 - seconds) > signatureToleranceSeconds) return false;
  return timingSafeEqual(Buffer.from(match[2]!, 'hex'), Buffer.from(digestOf(body, secret, seconds), 'hex'));
}

function digestOf(body: string, secret: string, seconds: number): string {
  return createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
}
