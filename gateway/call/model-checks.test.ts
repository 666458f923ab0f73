import { expect, it } from '@jest/globals';
import { Model } from '#proto/catalog/v1/catalog.js';
import { outlineOf } from '../http/middleware/json-outline.js';
import { assertFits } from './model-checks.js';

const models = { find: () => Model.fromPartial({ id: 'm', contextLimitTokens: 32_000 }) };

function fits(content: unknown, model: unknown = 'm'): void {
  assertFits(outlineOf(JSON.stringify({ messages: [{ role: 'user', content }], model })), models);
}

it('a body fits if its text can be the tokens of the context, whatever the size of its images', () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(8_000_000)}` } };
  expect(() => fits('x'.repeat(4_000_000))).not.toThrow();
  expect(() => fits([image])).not.toThrow();
  expect(() => fits('x'.repeat(4_200_000))).toThrow(expect.objectContaining({ reason: 'context_length_exceeded' }));
  // Left to the validation of the body.
  expect(() => fits('x'.repeat(4_200_000), 7)).not.toThrow();
});
