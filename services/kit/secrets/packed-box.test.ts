import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { seal, unseal } from './packed-box.js';

const secret = randomBytes(32);
const text = (bytes: number): Buffer => Buffer.from('a customer wrote this. '.repeat(bytes).slice(0, bytes));

describe('a sealed text', () => {
  it.each([0, 1, 511, 512, 4095, 4096, 100_000])('of %i bytes comes back', async (bytes) => {
    const box = await seal(text(bytes), secret, 'req_1');
    expect(box.includes('customer')).toBe(false);
    expect(await unseal(box, secret, bytes + 1, 'req_1')).toEqual(text(bytes));
  });

  it.each([512, 4096, 100_000])('of %i bytes is compressed', async (bytes) => {
    expect((await seal(text(bytes), secret)).length).toBeLessThan(bytes / 5);
  });

  it.each([10, 2000])('of %i bytes opens only whole, unchanged, with its secret, for its purpose and within the limit', async (bytes) => {
    const box = await seal(text(bytes), secret, 'req_1');
    await expect(unseal(box, randomBytes(32), bytes, 'req_1')).rejects.toThrow();
    await expect(unseal(box, secret, bytes, 'req_2')).rejects.toThrow();
    await expect(unseal(box, secret, bytes - 1, 'req_1')).rejects.toThrow();
    await expect(unseal(box.subarray(0, -1), secret, bytes, 'req_1')).rejects.toThrow();
    box[box.length - 1]! ^= 1;
    await expect(unseal(box, secret, bytes, 'req_1')).rejects.toThrow();
  });
});
