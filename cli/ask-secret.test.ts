import { expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { askSecret } from './ask-secret.js';

it.each([
  ['the line', 'sk-1\r', 'sk-1'],
  ['nothing after Ctrl-C', 'sk-1\u0003', undefined],
  ['nothing after Ctrl-D', '\u0004', undefined],
])('returns %s, and shows only the question', async (_, typed, expected) => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const asked = askSecret('Secret: ', input, output);
  input.write(typed);
  expect(await asked).toBe(expected);
  expect(String(output.read())).toBe('Secret: \n');
});
