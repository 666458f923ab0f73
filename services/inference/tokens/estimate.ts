// The one estimate of a prompt's tokens: for count_tokens if the vendor has no count, for the running figure until the vendor reports
// one, and for the charge if it never does.
import type { ApiFormat, GenerateRequest, Prompt, ResponseFormat } from '#proto/inference/v1/inference.js';
import { claudeGeneration } from '../requests/claude-generation.js';
import { mediaTokens } from './media-tokens.js';
import { bytesOf, encryptedReasoningTokens, promptTexts, roughTokens, type SendsReasoning } from './prompt-text.js';
import { countTexts } from './tokenizer.js';

/** What decides which parts of a request an upstream receives. */
export interface Reads {
  readonly format: ApiFormat;
  readonly sentReasoning: SendsReasoning;
}

/** The parts of a request that a model reads. */
export interface Readable {
  readonly prompt: Prompt;
  readonly responseFormat: ResponseFormat | undefined;
  /** What the upstream receives of reasoning in the history. */
  readonly sends: SendsReasoning;
  /** An estimate of the content that only this upstream's format can express. */
  readonly foreignTokens: number;
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

/** Returns the parts of the request that this upstream receives. */
export function readableOf(
  {
    prompt,
    responseFormat,
    native,
    ...rest
  }: Pick<GenerateRequest, 'prompt' | 'responseFormat' | 'native'> & Partial<Pick<GenerateRequest, 'embedding'>>,
  { format, sentReasoning }: Reads,
): Readable {
  const foreignTokens = native?.format === format ? (native.foreignTokens ?? 0) : 0;
  return { prompt: prompt!, responseFormat, sends: sentReasoning, foreignTokens, isEmbedding: rest.embedding !== undefined };
}

/** Returns the input tokens by the exact method: text by the vocabulary, images by their pixels, documents by their pages. */
export async function estimateInput(readable: Readable, model: string): Promise<number> {
  return total(await countTexts(textsOf(readable)), bytesOf(textsOf(readable)), readable, model);
}

/** Returns a quick estimate at four bytes of text per token: for running figures, where a tokenizer would cost more than it is worth. */
export function roughInput(readable: Readable, model: string): number {
  const bytes = bytesOf(textsOf(readable));
  return total(roughTokens(bytes), bytes, readable, model);
}

function total(counted: number, bytes: number, readable: Readable, model: string): number {
  const { prompt, sends, foreignTokens } = readable;
  const { system, messages, tools } = prompt;
  const toolsTokens =
    tools.length === 0 ? 0 : around.tool * tools.length + (claudeGeneration(model) === undefined ? around.tools : around.claudeTools);
  const messageTokens = readable.isEmbedding === true ? 0 : around.message * (system.length + messages.length);
  // No tokenizer produces more tokens than bytes, whatever the factor says.
  const textTokens = Math.min(Math.ceil(counted * textFactor(model)), bytes);
  const others = encryptedReasoningTokens(prompt, sends) + foreignTokens + mediaTokens(prompt, model);
  return textTokens + messageTokens + toolsTokens + others;
}

function* textsOf({ prompt, responseFormat, sends }: Readable): Generator<string> {
  yield* promptTexts(prompt, sends);
  if (responseFormat?.format?.$case === 'jsonSchema') yield responseFormat.format.value.schemaJson;
}
