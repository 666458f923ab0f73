import { expect, it } from '@jest/globals';
import { reversalKey } from './reversal-key.js';

const after = (reversibleNanoUsd: bigint, ...seqs: bigint[]): string =>
  reversalKey('ent_1', { corrections: seqs.map((seq) => ({ seq })), reversibleNanoUsd });

it('is the same for a repeat, and another once the reversal was reversed', () => {
  expect(after(5n)).toBe('reverse ent_1');
  expect(after(0n, 7n)).toBe('reverse ent_1');
  expect(after(5n, 7n, 8n)).toBe('reverse ent_1 after 8');
  expect(after(0n, 7n, 8n, 9n)).toBe('reverse ent_1 after 8');
  expect(after(5n, 7n, 8n, 9n, 10n)).toBe('reverse ent_1 after 10');
});
