import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { lastFour, SecretBox } from './secret-box.js';
import { ensureSecretKey } from './secret-key.js';

describe('a sealed secret', () => {
  const box = new SecretBox(randomBytes(32));
  const sealed = box.seal('sk-ünï-secret', 'upstream a');

  it('opens only with the same key and for the same purpose', () => {
    expect(box.open(sealed, 'upstream a')).toBe('sk-ünï-secret');
    expect(box.open(sealed, 'upstream b')).toBeUndefined();
    expect(new SecretBox(randomBytes(32)).open(sealed, 'upstream a')).toBeUndefined();
    expect(box.open(sealed.slice(0, 20), 'upstream a')).toBeUndefined();
    const tampered = Buffer.from(sealed, 'base64');
    tampered[tampered.length - 1]! ^= 1;
    expect(box.open(tampered.toString('base64'), 'upstream a')).toBeUndefined();
  });

  it('is different every time', () => {
    expect(box.seal('x', 'p')).not.toBe(box.seal('x', 'p'));
  });

  it('needs a key of 32 bytes', () => {
    expect(() => new SecretBox(Buffer.alloc(16))).toThrow('32 bytes');
  });
});

describe('the last four characters', () => {
  it('are shown only for a long secret', () => {
    expect(lastFour('sk-1234567890abcd')).toBe('abcd');
    expect(lastFour('12345678901')).toBe('');
  });
});

describe('the key file', () => {
  it('is created once, readable only by its owner, and read from then on', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
    const path = join(folder, 'deep', 'secret-key');
    const key = ensureSecretKey(path);
    expect(key).toHaveLength(32);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(ensureSecretKey(path)).toEqual(key);
    expect(readFileSync(path, 'utf8').trim()).toBe(key.toString('base64'));
    writeFileSync(path, 'short');
    expect(() => ensureSecretKey(path)).toThrow('does not hold a key');
    rmSync(folder, { recursive: true });
  });
});
