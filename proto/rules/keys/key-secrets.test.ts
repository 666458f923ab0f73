import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashSecret, isWellFormedSecret, lastFour, mintSecret } from './key-secrets.js';

// Computed with another implementation (Python's zlib and int), so that the format cannot drift unnoticed.
const known = [
  { random: Buffer.alloc(32, 0x00), secret: 'sk-tg-00000000000000000000000000000000000000000004JadvH' },
  { random: Buffer.alloc(32, 0xff), secret: 'sk-tg-yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp11AomgV' },
  {
    random: Buffer.from(Array.from({ length: 32 }, (_, index) => index)),
    secret: 'sk-tg-003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf3dYKoV',
  },
];

const randomBytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

describe('a key secret', () => {
  it.each(known)('has the documented format ($secret)', ({ random, secret }) => {
    expect(mintSecret(random)).toBe(secret);
  });

  it('is accepted with its own prefix only, because the checksum covers the prefix', () => {
    fc.assert(
      fc.property(randomBytes, (random) => {
        const [platform, management] = [mintSecret(random), mintSecret(random, 'mk-tg-')];
        return isWellFormedSecret(platform) && isWellFormedSecret(management) && !isWellFormedSecret(platform.replace('sk', 'mk'));
      }),
    );
  });

  it('is rejected with any one character mistyped', () => {
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-';
    fc.assert(
      fc.property(randomBytes, fc.nat(54), fc.constantFrom(...alphabet), (random, position, typed) => {
        const secret = mintSecret(random);
        fc.pre(secret[position] !== typed);
        return !isWellFormedSecret(secret.slice(0, position) + typed + secret.slice(position + 1));
      }),
    );
  });

  it('is rejected when it is truncated, too long or of another kind', () => {
    const secret = mintSecret();
    for (const text of ['', 'sk-tg-', secret.slice(0, -1), `${secret}0`, ` ${secret}`, `${secret}\n`, secret.replace('sk-tg-', 'sk-xx-')]) {
      expect(isWellFormedSecret(text)).toBe(false);
    }
  });

  it('is never minted twice', () => {
    expect(new Set(Array.from({ length: 1000 }, () => mintSecret())).size).toBe(1000);
  });

  it('is hashed by SHA-256 and shows its last four characters', () => {
    expect(hashSecret('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(lastFour('sk-tg-0001wxyz')).toBe('wxyz');
  });
});
