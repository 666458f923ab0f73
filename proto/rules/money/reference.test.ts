import { expect, it } from '@jest/globals';
import { referenceIn, withReference } from './reference.js';

it.each([
  ['Bank transfer', 'INV-2026-7', 'Bank transfer (INV-2026-7)'],
  ['Bank transfer', ' INV 7 ', 'Bank transfer (INV 7)'],
  ['', 'INV-7', '(INV-7)'],
  ['Bank transfer', 'INV-7 (part 2)', 'Bank transfer (INV-7 (part 2))'],
  ['Second try (yes)', 'INV-7', 'Second try (yes) (INV-7)'],
])('adds the reference to the reason %j and finds it again', (reason, reference, text) => {
  expect(withReference(reason, reference)).toBe(text);
  expect(referenceIn(text)).toBe(reference.trim());
});

it.each(['Bank transfer', 'starting balance', 'stripe cs_1', 'f(x)', 'a (b) c', ''])('finds no reference in %j', (text) => {
  expect(withReference(text, '  ')).toBe(text);
  expect(referenceIn(text)).toBeUndefined();
});

it('does not take parentheses at the end of a reason for a reference', () => {
  const text = withReference('Goodwill for the outage (see mail)', '');
  expect(text).toBe('Goodwill for the outage (see mail).');
  expect(referenceIn(text)).toBeUndefined();
  expect(withReference(text, '')).toBe(text);
});
