// What upstreams read, for tests of counts.
import type { Prompt, ResponseFormat } from '#proto/inference/v1/inference.js';
import { type Readable, readableOf, unknownRecipient } from '../tokens/estimate.js';

/** Returns what an unknown upstream reads of a prompt. */
export function readable(prompt: Prompt, responseFormat?: ResponseFormat): Readable {
  return readableOf({ prompt, responseFormat, native: undefined }, unknownRecipient);
}
