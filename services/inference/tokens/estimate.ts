// The one estimate of a prompt's tokens: for count_tokens if the vendor has no count, for the running figure until the vendor reports
// one, and for the charge if it never does.
import { ApiFormat, type GenerateRequest, type NativeRequest, type Prompt, type ResponseFormat } from '#proto/inference/v1/inference.js';
import { claudeGeneration } from '../requests/claude-generation.js';
import { mediaTokens } from './media-tokens.js';
import { bytesOf, encryptedReasoningTokens, promptTexts, roughTokens, type SendsReasoning, textOfReasoning } from './prompt-text.js';
import { countTexts } from './tokenizer.js';

/** An upstream, by what decides which parts of a request it receives. */
export interface Recipient {
  readonly format: ApiFormat;
  readonly sentReasoning: SendsReasoning;
}

/** An upstream of which nothing is known: the text of all reasoning counts, and nothing that only one format can express. */
export const unknownRecipient: Recipient = { format: ApiFormat.API_FORMAT_UNSPECIFIED, sentReasoning: textOfReasoning };

/** The parts of a request that a model reads. */
export interface Readable {
  readonly prompt: Prompt;
  readonly responseFormat: ResponseFormat | undefined;
  /** What the upstream receives of reasoning in the history. */
  readonly sentReasoning: SendsReasoning;
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

/** The parts of a request that an upstream may receive. */
interface Sendable extends Pick<GenerateRequest, 'prompt' | 'responseFormat'> {
  readonly native: Pick<NativeRequest, 'format' | 'foreignTokens'> | undefined;
  readonly embedding?: GenerateRequest['embedding'];
}

/** Returns the parts of the request that this upstream receives. */
export function readableOf({ prompt, responseFormat, native, embedding }: Sendable, { format, sentReasoning }: Recipient): Readable {
  const foreignTokens = native?.format === format ? (native.foreignTokens ?? 0) : 0;
  return { prompt: prompt!, responseFormat, sentReasoning, foreignTokens, isEmbedding: embedding !== undefined };
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
  const { prompt, sentReasoning, foreignTokens } = readable;
  const { system, messages, tools } = prompt;
  const toolsTokens =
    tools.length === 0 ? 0 : around.tool * tools.length + (claudeGeneration(model) === undefined ? around.tools : around.claudeTools);
  const messageTokens = readable.isEmbedding === true ? 0 : around.message * (system.length + messages.length);
  // No tokenizer produces more tokens than bytes, whatever the factor says.
  const textTokens = Math.min(Math.ceil(counted * textFactor(model)), bytes);
  const others = encryptedReasoningTokens(prompt, sentReasoning) + foreignTokens + mediaTokens(prompt, model);
  return textTokens + messageTokens + toolsTokens + others;
}

function* textsOf({ prompt, responseFormat, sentReasoning }: Readable): Generator<string> {
  yield* promptTexts(prompt, sentReasoning);
  if (responseFormat?.format?.$case === 'jsonSchema') yield responseFormat.format.value.schemaJson;
}
