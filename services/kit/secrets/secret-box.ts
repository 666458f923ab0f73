// Encrypts secrets for a database: AES-256-GCM, a new nonce each time.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import assert from 'node:assert/strict';

/** Length of the key. */
export const secretKeyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts texts with one key. */
export class SecretBox {
  readonly #key: Buffer;

  /** `key` is 32 random bytes that live outside the database. */
  constructor(key: Buffer) {
    assert.equal(key.length, secretKeyBytes, 'The key that protects secrets is 32 bytes long.');
    this.#key = key;
  }

  /**
   * Returns the sealed text, as base64 of nonce, tag and ciphertext. `purpose` is bound to it: the secret of a row whose other fields were
   * tampered with (for example another base_url, to have the secret sent there) can no longer be opened.
   */
  seal(text: string, purpose: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** Returns the text, or undefined when it was sealed with another key or for another purpose. */
  open(sealed: string, purpose: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64');
    if (bytes.length < nonceBytes + tagBytes) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(purpose));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}

// Four characters of a shorter secret would reveal too much of it.
const charsForLastFour = 12;

/** Returns the part of a secret that may be shown: its last four characters, or nothing of a short one. */
export function lastFour(secret: string): string {
  return secret.length < charsForLastFour ? '' : secret.slice(-4);
}
