import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { lastFour, SecretBox, sealedWith } from './secret-box.js';
import { secretKey } from './secret-key.js';
import { fixedSecretKeys } from './secret-keys.js';

describe('a sealed secret', () => {
  const key = randomBytes(32);
  const box = new SecretBox(fixedSecretKeys(key));
  const sealed = box.seal('sk-ünï-secret', 'upstream a');

  it('opens only with the same key and for the same purpose', () => {
    expect(box.open(sealed, 'upstream a')).toBe('sk-ünï-secret');
    expect(box.open(sealed, 'upstream b')).toBeUndefined();
    expect(new SecretBox(fixedSecretKeys(randomBytes(32))).open(sealed, 'upstream a')).toBeUndefined();
    expect(box.open(sealed.slice(0, 20), 'upstream a')).toBeUndefined();
    const [id, text] = sealed.split('.') as [string, string];
    const tampered = Buffer.from(text, 'base64url');
    tampered[tampered.length - 1]! ^= 1;
    expect(box.open(`${id}.${tampered.toString('base64url')}`, 'upstream a')).toBeUndefined();
    expect(box.open('nothing sealed', 'upstream a')).toBeUndefined();
  });

  it('names its key, and opens after another key became the current one', () => {
    expect(sealedWith(sealed)).toBe(secretKey(key).id);
    expect(new SecretBox(fixedSecretKeys(randomBytes(32), key)).open(sealed, 'upstream a')).toBe('sk-ünï-secret');
  });

  it('is different every time', () => {
    expect(box.seal('x', 'p')).not.toBe(box.seal('x', 'p'));
  });
});

describe('the last four characters', () => {
  it('are shown only for a long secret', () => {
    expect(lastFour('sk-1234567890abcd')).toBe('abcd');
    expect(lastFour('12345678901')).toBe('');
  });
});
