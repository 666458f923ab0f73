// The secret of a redemption code: how it is created, parsed from what users type, and hashed. Pure except for the randomness passed in.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';

// Without I, L, O and U, which are easily mistaken for other characters (https://www.crockford.com/base32.html).
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const length = 20;
const groupLength = 5;
const prefix = 'TGC';
const form = new RegExp(`^[${alphabet}]{${length}}$`);

/** Returns a new secret of 100 random bits: "TGC-" and four groups of five characters. */
export function mintCode(random: Buffer = randomBytes(length)): string {
  assert.equal(random.length, length);
  // The low five bits of each byte are as random as the whole byte.
  const characters = [...random].map((byte) => alphabet[byte & 31]!).join('');
  return [prefix, ...characters.match(new RegExp(`.{${groupLength}}`, 'g'))!].join('-');
}

/** Returns the significant characters of what a user typed; undefined when it cannot be a code. */
export function readCode(text: string): string | undefined {
  const typed = text.toUpperCase().replace(/[\s-]/g, '');
  const body = typed.length === prefix.length + length && typed.startsWith(prefix) ? typed.slice(prefix.length) : typed;
  const characters = body.replaceAll('O', '0').replace(/[IL]/g, '1');
  return form.test(characters) ? characters : undefined;
}

/** Returns the 32 bytes under which a code is stored and looked up. A plain hash suffices: 100 random bits cannot be searched. */
export function hashOfCode(characters: string): Buffer {
  return createHash('sha256').update(characters).digest();
}
