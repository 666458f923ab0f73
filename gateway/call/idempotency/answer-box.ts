// How a kept answer is stored: compressed, then encrypted with a secret derived from the caller's key (AES-256-GCM).
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';

const nonceBytes = 12;
const tagBytes = 16;
/** A shorter answer is compressed in less time than another thread takes to begin. */
const longBytes = 4096;
const cipherName = 'aes-256-gcm';

const deflated = promisify(deflateRaw);
const inflated = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);

/** Compresses and encrypts an answer. */
export async function seal(plain: Buffer, secret: Buffer): Promise<Buffer> {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, secret, nonce);
  const packed = plain.length < longBytes ? deflateRawSync(plain) : await deflated(plain);
  const body = Buffer.concat([cipher.update(packed), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Decrypts and decompresses an answer. Throws if the secret is different, if a byte was changed, or if the answer is larger than `bytesMax`. */
export async function unseal(box: Buffer, secret: Buffer, bytesMax: number): Promise<Buffer> {
  const decipher = createDecipheriv(cipherName, secret, box.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(box.subarray(nonceBytes, nonceBytes + tagBytes));
  const packed = Buffer.concat([decipher.update(box.subarray(nonceBytes + tagBytes)), decipher.final()]);
  return inflated(packed, { maxOutputLength: bytesMax });
}
