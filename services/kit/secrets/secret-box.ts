// Encrypts secrets for a database: AES-256-GCM, a new nonce each time. A sealed text begins with the id of its key.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SecretKeySource } from './secret-keys.js';

const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts texts. */
export class SecretBox {
  constructor(private readonly keys: SecretKeySource) {}

  /**
   * Returns the text sealed with the current key: the key's id, a dot, and nonce, tag and ciphertext in base64url. `purpose` is bound to it: the
   * secret of a row whose other fields were tampered with (for example another base_url, to have the secret sent there) can no longer be opened.
   */
  seal(text: string, purpose: string): string {
    const { id, key } = this.keys.current();
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    cipher.setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return `${id}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** Returns the text, or undefined when it was sealed with an unknown key or for another purpose. */
  open(sealed: string, purpose: string): string | undefined {
    const id = sealedWith(sealed);
    const key = this.keys.find(id);
    const bytes = Buffer.from(sealed.slice(id.length + 1), 'base64url');
    if (key === undefined || bytes.length < nonceBytes + tagBytes) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(purpose));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}

/** Returns the id of the key with which a text was sealed. */
export function sealedWith(sealed: string): string {
  return sealed.slice(0, Math.max(0, sealed.indexOf('.')));
}

// Four characters of a shorter secret would reveal too much of it.
const charsForLastFour = 12;

/** Returns the part of a secret that may be shown: its last four characters, or nothing of a short one. */
export function lastFour(secret: string): string {
  return secret.length < charsForLastFour ? '' : secret.slice(-4);
}
