// Compresses and encrypts long texts for a database (AES-256-GCM), each with a secret of 32 bytes that the caller keeps, and derives such secrets.
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';

const nonceBytes = 12;
const tagBytes = 16;
/** Compressing a shorter text takes less time than handing it to another thread. */
const longBytes = 4096;
/** Compressing a shorter text saves too few bytes for the time that it takes. */
const packedBytesMin = 512;
/** zlib takes 256 kB of memory by default (zconf.h). With these, compressing 900 bytes takes a third less time; the window is as long as the text can be. */
const shortOptions = { windowBits: 12, memLevel: 5, chunkSize: longBytes };
const cipherName = 'aes-256-gcm';

const deflated = promisify(deflateRaw);
const inflated = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);

// Below, keys are passed as KeyObjects: for any other key, Node 24 first tries to read it as one, and catches the exception, which takes longer than the work.

/** Derives this many bytes from a secret text (HKDF with SHA-256, RFC 5869). */
export function derivedBytes(secret: string, { salt, info, bytes }: { salt: string; info: string; bytes: number }): Buffer {
  return Buffer.from(hkdfSync('sha256', createSecretKey(secret, 'utf8'), salt, info, bytes));
}

/** Compresses and encrypts a text. `purpose` is bound to it: it can be decrypted for the same purpose only. */
export async function seal(plain: Uint8Array, secret: Buffer, purpose = ''): Promise<Buffer> {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, createSecretKey(secret), nonce);
  cipher.setAAD(Buffer.from(purpose));
  const packed = plain.length < longBytes ? packShort(plain) : await deflated(plain);
  const body = Buffer.concat([cipher.update(packed), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Decrypts and decompresses a text. Throws if the secret or the purpose is different, if a byte was changed, or if the text is larger than `bytesMax`. */
export async function unseal(box: Buffer, secret: Buffer, bytesMax: number, purpose = ''): Promise<Buffer> {
  const decipher = createDecipheriv(cipherName, createSecretKey(secret), box.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(purpose));
  decipher.setAuthTag(box.subarray(nonceBytes, nonceBytes + tagBytes));
  const packed = Buffer.concat([decipher.update(box.subarray(nonceBytes + tagBytes)), decipher.final()]);
  return inflated(packed, { maxOutputLength: bytesMax });
}

function packShort(plain: Uint8Array): Uint8Array {
  if (plain.length >= packedBytesMin) return deflateRawSync(plain, shortOptions);
  // The only and last block, not compressed: its length, and the complement of that (RFC 1951, 3.2.4).
  const block = Buffer.allocUnsafe(5 + plain.length);
  block[0] = 1;
  block.writeUInt16LE(plain.length, 1);
  block.writeUInt16LE(plain.length ^ 0xffff, 3);
  block.set(plain, 5);
  return block;
}
