// The one estimate of a prompt's tokens: for count_tokens if the vendor has no count, for the running figure until the vendor reports
// one, and for the charge if it never does.
import type { Prompt, ResponseFormat } from '#proto/inference/v1/inference.js';
import { claudeGeneration } from '../requests/claude-generation.js';
import { mediaTokens } from './media-tokens.js';
import { inputTokensMax, promptBytes, promptTexts, roughTokens } from './prompt-text.js';
import { countTexts } from './tokenizer.js';

/** The parts of a request that a model reads. */
export interface Readable {
  readonly prompt: Prompt;
  readonly responseFormat: ResponseFormat | undefined;
  /** Set for embeddings: each message is a text of its own, and models add no tokens around it. */
  readonly isEmbedding?: boolean;
}

/** Tokens around each message and each instruction, around each tool, and once for having tools. */
const around = { message: 4, tool: 8, tools: 12, claudeTools: 346 } as const;

/**
 * Returns how many tokens of the model's own tokenizer correspond to one of the o200k vocabulary. Anthropic publishes no tokenizer, so these cannot be measured
 * offline: they lie between what others report for prose and for tables and code (1.09 and 1.14 up to generation 4.6; 1.45 and 1.58
 * from 4.7 on, huggingface.co/datasets/JOHNISKING/pdf-token-cost).
 */
export function textFactor(model: string): number {
  const generation = claudeGeneration(model);
  if (generation === undefined) return 1;
  return generation >= 4.07 ? 1.5 : 1.12;
}

/** Returns the input tokens by the exact method: text by the vocabulary, images by their pixels, documents by their pages. */
export async function estimateInput(readable: Readable, model: string): Promise<number> {
  const counted = await countTexts(textsOf(readable));
  return total(counted * textFactor(model), promptBytes(readable.prompt), readable, model);
}

/** Returns a quick estimate at four bytes of text per token: for running figures, where a tokenizer would cost more than it is worth. */
export function roughInput(readable: Readable, model: string): number {
  const bytes = promptBytes(readable.prompt);
  const counted = roughTokens(bytes + Buffer.byteLength(schemaOf(readable)));
  return total(counted * textFactor(model), bytes, readable, model);
}

function total(textTokens: number, bytes: number, readable: Readable, model: string): number {
  const { prompt } = readable;
  const { system, messages, tools } = prompt;
  const toolsTokens =
    tools.length === 0 ? 0 : around.tool * tools.length + (claudeGeneration(model) === undefined ? around.tools : around.claudeTools);
  const messageTokens = readable.isEmbedding === true ? 0 : around.message * (system.length + messages.length);
  const tokens = Math.ceil(textTokens) + messageTokens + toolsTokens;
  // No tokenizer produces more tokens than bytes, whatever the factor says.
  return Math.min(tokens, inputTokensMax(prompt, bytes) + Buffer.byteLength(schemaOf(readable))) + mediaTokens(prompt, model);
}

function* textsOf(readable: Readable): Generator<string> {
  yield* promptTexts(readable.prompt);
  yield schemaOf(readable);
}

function schemaOf({ responseFormat }: Readable): string {
  return responseFormat?.format?.$case === 'jsonSchema' ? responseFormat.format.value.schemaJson : '';
}
