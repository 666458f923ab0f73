// Compresses and encrypts long texts for a database (AES-256-GCM), each with a secret of 32 bytes that the caller keeps.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';

const nonceBytes = 12;
const tagBytes = 16;
/** Compressing a shorter text takes less time than handing it to another thread. */
const longBytes = 4096;
const cipherName = 'aes-256-gcm';

const deflated = promisify(deflateRaw);
const inflated = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);

/** Compresses and encrypts a text. `purpose` is bound to it: it can be decrypted for the same purpose only. */
export async function seal(plain: Uint8Array, secret: Buffer, purpose = ''): Promise<Buffer> {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, secret, nonce);
  cipher.setAAD(Buffer.from(purpose));
  const packed = plain.length < longBytes ? deflateRawSync(plain) : await deflated(plain);
  const body = Buffer.concat([cipher.update(packed), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Decrypts and decompresses a text. Throws if the secret or the purpose is different, if a byte was changed, or if the text is larger than `bytesMax`. */
export async function unseal(box: Buffer, secret: Buffer, bytesMax: number, purpose = ''): Promise<Buffer> {
  const decipher = createDecipheriv(cipherName, secret, box.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(purpose));
  decipher.setAuthTag(box.subarray(nonceBytes, nonceBytes + tagBytes));
  const packed = Buffer.concat([decipher.update(box.subarray(nonceBytes + tagBytes)), decipher.final()]);
  return inflated(packed, { maxOutputLength: bytesMax });
}
