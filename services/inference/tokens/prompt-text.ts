// The text of a prompt, and bounds that follow from its length alone.
import type { GenerateRequest, Part, Prompt, ReasoningPart } from '#proto/inference/v1/inference.js';
import { utf8Length } from '#kit/utf8.js';

/** The reasoning of an earlier answer as an upstream receives it. */
export interface SentReasoning {
  readonly text: string;
  /** What the vendor encrypted or signed, in base64. */
  readonly encrypted: string;
}

/** Returns what an upstream receives of reasoning in the history. */
export type SendsReasoning = (part: ReasoningPart) => SentReasoning;

/** What an upstream receives of reasoning if nothing is known about it. */
export const textOfReasoning: SendsReasoning = ({ text }) => ({ text, encrypted: '' });

/**
 * Yields the strings of the prompt that a model reads, in order; with `sends`, only those that count as input of an upstream that receives this of
 * reasoning. The ids of tool calls, which vendors use to match results, do not.
 */
export function* promptTexts(prompt: Prompt, sends?: SendsReasoning): Generator<string> {
  yield* prompt.system;
  for (const message of prompt.messages) {
    for (const { part } of message.parts) yield* partTexts(part, sends);
  }
  for (const tool of prompt.tools) {
    yield tool.name;
    yield tool.description;
    yield tool.parametersJson;
    yield tool.custom?.grammar ?? '';
  }
}

function* partTexts(part: Part['part'], sends: SendsReasoning | undefined): Generator<string> {
  switch (part?.$case) {
    case 'text':
      yield part.value.text;
      break;
    case 'toolCall':
      if (sends === undefined) yield part.value.id;
      yield part.value.name;
      yield part.value.argumentsJson;
      break;
    case 'toolResult':
      if (sends === undefined) yield part.value.toolCallId;
      yield part.value.text;
      for (const each of part.value.content) yield* partTexts(each.part, sends);
      break;
    case 'document':
      yield part.value.title;
      yield part.value.context;
      if (part.value.source?.$case === 'text') yield part.value.source.value;
      break;
    case 'image':
      break;
    case 'reasoning':
      if (sends !== undefined) {
        const sent = sends(part.value);
        if (encryptedTokens(sent) === 0) yield sent.text;
        break;
      }
      yield part.value.text;
      yield part.value.signature;
      yield part.value.redactedData;
      break;
    case undefined:
      break;
  }
}

/** Returns the tokens of the prompt's reasoning that is sent encrypted. */
export function encryptedReasoningTokens({ messages }: Prompt, sends: SendsReasoning): number {
  let tokens = 0;
  for (const { parts } of messages) {
    for (const { part } of parts) if (part?.$case === 'reasoning') tokens += encryptedTokens(sends(part.value));
  }
  return tokens;
}

/**
 * Returns the tokens of encrypted reasoning by its length: ciphertext is as long as its text, and base64 a third longer. The text beside it is a summary,
 * unless it is longer, as with a mere signature: then 0, because the text counts.
 */
function encryptedTokens({ text, encrypted }: SentReasoning): number {
  const tokens = roughTokens((encrypted.length * 3) / 4);
  return tokens > roughTokens(utf8Length(text)) ? tokens : 0;
}

/** Returns the UTF-8 bytes of the texts. */
export function bytesOf(texts: Iterable<string>): number {
  let bytes = 0;
  for (const text of texts) bytes += utf8Length(text);
  return bytes;
}

/** Returns the number of token ids among the inputs of an embedding. */
export function tokenInputs({ embedding }: Pick<GenerateRequest, 'embedding'>): number {
  return embedding === undefined ? 0 : embedding.tokenInputs.reduce((sum, { ids }) => sum + ids.length, 0);
}

/** Maximum number of tokens that a vendor adds around a message (an instruction counts as one), around a tool, and once if there are any tools. */
export const overheadTokensMax = { message: 64, tool: 512, tools: 1024 } as const;

/**
 * Returns an upper bound on any correct count of this prompt's input tokens. Every token covers at least one byte of text, or belongs to what
 * vendors add around messages and tools. The gateway holds money by the same rule, so a larger count could not be charged.
 */
export function inputTokensMax(prompt: Prompt): number {
  const { system, messages, tools } = prompt;
  const aroundMessages = overheadTokensMax.message * (system.length + messages.length);
  const aroundTools = overheadTokensMax.tool * tools.length + (tools.length > 0 ? overheadTokensMax.tools : 0);
  return bytesOf(promptTexts(prompt)) + aroundMessages + aroundTools;
}

/** Returns a quick estimate of the tokens in this many bytes of text: four bytes per token, rounded up. */
export function roughTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}
