import { expect, it } from '@jest/globals';
import { hashOfCode, mintCode, readCode } from './code-secret.js';

it('creates codes that are all different and reads them however users type them', () => {
  const codes = new Set(Array.from({ length: 1000 }, () => mintCode()));
  expect(codes.size).toBe(1000);
  for (const code of codes) expect(code).toMatch(/^TGC(-[0-9A-HJKMNP-TV-Z]{5}){4}$/);
  const code = mintCode(Buffer.from(Array.from({ length: 20 }, (_, index) => index)));
  expect(code).toBe('TGC-01234-56789-ABCDE-FGHJK');
  for (const typed of [
    code,
    code.toLowerCase(),
    ` ${code.replaceAll('-', ' ')} `,
    code.slice(4),
    'tgc-o1234-56789-abcde-fghjk',
    'TGC-0l234-56789-ABCDE-FGHJK',
  ]) {
    expect(readCode(typed)).toBe('0123456789ABCDEFGHJK');
  }
  for (const typed of ['', 'TGC', code.slice(0, -1), `${code}0`, code.replace('A', 'U'), 'é'.repeat(20)])
    expect(readCode(typed)).toBeUndefined();
  expect(hashOfCode('0123456789ABCDEFGHJK')).toHaveLength(32);
});
