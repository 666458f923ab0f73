// POST /v1/embeddings of the stub: checks the request as the vendor does, and answers with vectors that follow from the inputs.
import { type Json, objectOf, Refused } from '../checks/check.js';
import type { Script } from '../script.js';

const dimensionsDefault = 3;

/** Refuses what the vendor would refuse. */
export function checkEmbeddings(body: Json): void {
  objectOf(body, '', ['model', 'input'], ['dimensions', 'encoding_format', 'user', 'input_type']);
  const { input } = body;
  const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input];
  if (inputs.length === 0 || inputs.length > 2048) throw new Refused("'input' must have 1 to 2048 entries", 'input');
  for (const each of inputs) {
    const isText = typeof each === 'string' && each !== '';
    const isTokens = Array.isArray(each) && each.length > 0 && each.every((token) => Number.isInteger(token));
    if (!isText && !isTokens) throw new Refused("'$.input' is invalid", 'input');
  }
}

/** Returns the body of the answer, its vectors in reverse order. */
export function embeddingsBody({ usage }: Script, body: Json): Json {
  const inputs = body['input'] as (string | number[])[];
  const dimensions = (body['dimensions'] as number | undefined) ?? dimensionsDefault;
  const data = inputs.map((input, index) => {
    const numbers = Float32Array.from({ length: dimensions }, (_, position) => stubNumber(input, position));
    const embedding = body['encoding_format'] === 'base64' ? Buffer.from(numbers.buffer).toString('base64') : [...numbers];
    return { object: 'embedding', index, embedding };
  });
  const tokens = typeof usage === 'object' ? usage.input : 1;
  const reported = usage === 'none' ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } };
  return { object: 'list', data: data.toReversed(), model: `${String(body['model'])}-001`, ...reported };
}

/** Returns a number of the vector of an input. */
export function stubNumber(input: string | readonly number[], position: number): number {
  return input.length / 10 + position;
}
