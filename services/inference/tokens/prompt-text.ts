// The text of a prompt, and bounds that follow from its length alone.
import type { GenerateRequest, Part, Prompt } from '#proto/inference/v1/inference.js';
import { utf8Length } from '#kit/utf8.js';

/** Yields every string of the prompt that a model may read, in order. */
export function* promptTexts(prompt: Prompt): Generator<string> {
  yield* prompt.system;
  for (const message of prompt.messages) {
    for (const { part } of message.parts) yield* partTexts(part);
  }
  for (const tool of prompt.tools) {
    yield tool.name;
    yield tool.description;
    yield tool.parametersJson;
    yield tool.custom?.grammar ?? '';
  }
}

/** Yields every string of one part of a message. */
function* partTexts(part: Part['part']): Generator<string> {
  switch (part?.$case) {
    case 'text':
      yield part.value.text;
      break;
    case 'toolCall':
      yield part.value.id;
      yield part.value.name;
      yield part.value.argumentsJson;
      break;
    case 'toolResult':
      yield part.value.toolCallId;
      yield part.value.text;
      for (const each of part.value.content) yield* partTexts(each.part);
      break;
    case 'document':
      yield part.value.title;
      yield part.value.context;
      if (part.value.source?.$case === 'text') yield part.value.source.value;
      break;
    case 'image':
      break;
    case 'reasoning':
      yield part.value.text;
      yield part.value.signature;
      yield part.value.redactedData;
      break;
    case undefined:
      break;
  }
}

/** Returns the UTF-8 bytes of everything in the prompt. */
export function promptBytes(prompt: Prompt): number {
  let bytes = 0;
  for (const text of promptTexts(prompt)) bytes += utf8Length(text);
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
 * vendors add around messages and tools. The gateway holds money by the same rule, so a larger count could not be charged. `bytes` are those of `promptBytes`.
 */
export function inputTokensMax(prompt: Prompt, bytes = promptBytes(prompt)): number {
  const { system, messages, tools } = prompt;
  const aroundMessages = overheadTokensMax.message * (system.length + messages.length);
  const aroundTools = overheadTokensMax.tool * tools.length + (tools.length > 0 ? overheadTokensMax.tools : 0);
  return bytes + aroundMessages + aroundTools;
}

/** Returns a quick estimate of the tokens in this many bytes of text: four bytes per token, rounded up. */
export function roughTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}
