// The form of a platform key's secret (auth.proto, CreateKeyResponse.secret): "sk-tg-" ("mk-tg-" for a management key), 43 base62 characters that carry 256
// random bits, and 6 base62 characters of the CRC-32 of everything before them. Malformed secrets are refused here, without a lookup.
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const forms = { platform: /^sk-tg-[0-9A-Za-z]{49}$/, management: /^mk-tg-[0-9A-Za-z]{49}$/ };
const checksumLength = 6;

/** Reports whether the text can be a platform key, or a management key: the right form with the right checksum. */
export function isWellFormedSecret(text: string, kind: keyof typeof forms = 'platform'): boolean {
  if (!forms[kind].test(text)) return false;
  return checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

/** Returns the hash by which auth identifies a secret. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let index = 0; index < checksumLength; index += 1) {
    digits = alphabet[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
