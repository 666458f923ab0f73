// The secrets of platform keys and management keys (auth.proto, CreateKeyResponse.secret): how auth creates them, and how it and the gateway
// recognise and hash them. Pure except for the randomness passed in.
import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The prefixes of platform keys and management keys, by which users and scanners of leaked secrets distinguish them. */
export type SecretPrefix = 'sk-tg-' | 'mk-tg-';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

// 62^43 is the first power of 62 above 2^256, and 62^6 the first above 2^32.
const randomLength = 43;
const checksumLength = 6;
const form = /^([sm]k-tg-)[0-9A-Za-z]{49}$/;

/** Returns a new secret of 32 random bytes: the prefix, 43 base62 digits of the bytes, 6 base62 digits of the checksum. */
export function mintSecret(random: Buffer = randomBytes(32), prefix: SecretPrefix = 'sk-tg-'): string {
  assert.equal(random.length, 32);
  const body = prefix + toBase62(BigInt(`0x${random.toString('hex')}`), randomLength);
  const secret = body + checksumOf(body);
  assert(isWellFormedSecret(secret));
  return secret;
}

/**
 * Reports whether the text has the form of a secret, with this prefix if one is given, and a correct checksum, so that typing errors are
 * found without a lookup.
 */
export function isWellFormedSecret(text: string, prefix?: SecretPrefix): boolean {
  const [, found] = form.exec(text) ?? [];
  if (found === undefined || (prefix !== undefined && found !== prefix)) return false;
  return checksumOf(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

/** Returns the 32 bytes under which a key is stored and looked up. A plain hash is enough: 256 random bits cannot be guessed. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Returns the part of a secret that stays visible, so that users can distinguish keys. */
export function lastFour(secret: string): string {
  return secret.slice(-4);
}

function checksumOf(body: string): string {
  return toBase62(BigInt(crc32(body)), checksumLength);
}

function toBase62(value: bigint, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest /= 62n) digits = alphabet[Number(rest % 62n)]! + digits;
  return digits;
}
