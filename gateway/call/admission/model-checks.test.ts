import { expect, it } from '@jest/globals';
import { Model } from '#proto/catalog/v1/catalog.js';
import { outlineOf } from '../../http/middleware/json-outline.js';
import { assertFits } from './model-checks.js';

const model = Model.fromPartial({ id: 'm', contextLimitTokens: 32_000 });
const models = { find: () => model, list: () => [model, Model.fromPartial({ id: 'long', contextLimitTokens: 40_000 })] };

function fits(content: unknown, model: unknown = 'm'): void {
  assertFits(outlineOf(JSON.stringify({ messages: [{ role: 'user', content }], model })), models);
}

it('a body fits if its text can be the tokens of the context, whatever the size of its images', () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(8_000_000)}` } };
  expect(() => fits('x'.repeat(4_000_000))).not.toThrow();
  expect(() => fits([image])).not.toThrow();
  expect(() => fits('x'.repeat(4_200_000))).toThrow(expect.objectContaining({ reason: 'context_length_exceeded' }));
});

it('a body whose model is known only after parsing fits if it fits the longest context', () => {
  expect(() => fits('x'.repeat(4_200_000), 7)).not.toThrow();
  expect(() => fits('x'.repeat(5_200_000), 7)).toThrow(expect.objectContaining({ reason: 'context_length_exceeded' }));
  const escaped = outlineOf(`{"m\\u006fdel":"m","messages":[{"role":"user","content":"${'x'.repeat(5_200_000)}"}]}`);
  expect(() => assertFits(escaped, models)).toThrow(expect.objectContaining({ reason: 'context_length_exceeded' }));
});
