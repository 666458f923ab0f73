// What upstreams read, for tests of counts.
import { ApiFormat, type Prompt, type ResponseFormat } from '#proto/inference/v1/inference.js';
import { type Readable, readableOf, type Reads } from '../tokens/estimate.js';
import { textOfReasoning } from '../tokens/prompt-text.js';

/** An upstream that receives the text of reasoning and nothing foreign. */
export const plainUpstream: Reads = { format: ApiFormat.API_FORMAT_UNSPECIFIED, sentReasoning: textOfReasoning };

/** Returns what that upstream reads of a prompt. */
export function readable(prompt: Prompt, responseFormat?: ResponseFormat): Readable {
  return readableOf({ prompt, responseFormat, native: undefined }, plainUpstream);
}
