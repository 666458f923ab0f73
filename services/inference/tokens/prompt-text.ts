// The text of a prompt, and bounds that follow from its length alone.
import type { Part, Prompt } from '#proto/inference/v1/inference.js';

/** Every string of the prompt that a model may read, in order. */
export function* promptTexts(prompt: Prompt): Generator<string> {
  yield* prompt.system;
  for (const message of prompt.messages) {
    for (const { part } of message.parts) yield* partTexts(part);
  }
  for (const tool of prompt.tools) {
    yield tool.name;
    yield tool.description;
    yield tool.parametersJson;
  }
}

/** Every string of one part of a message. */
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

/** UTF-8 bytes of everything in the prompt. */
export function promptBytes(prompt: Prompt): number {
  let bytes = 0;
  for (const text of promptTexts(prompt)) bytes += Buffer.byteLength(text);
  return bytes;
}

/** What a vendor may add around a message (an instruction is one), around a tool, and once for having tools at all, in tokens. */
export const overheadTokensMax = { message: 64, tool: 512, tools: 1024 } as const;

/**
 * More input tokens than any honest count of this prompt. Every token stands for at least one byte of text, or belongs to what
 * vendors put around messages and tools. The gateway holds money by this same rule, so a larger count could not be charged.
 */
export function inputTokensMax(prompt: Prompt): number {
  const { system, messages, tools } = prompt;
  const aroundMessages = overheadTokensMax.message * (system.length + messages.length);
  const aroundTools = overheadTokensMax.tool * tools.length + (tools.length > 0 ? overheadTokensMax.tools : 0);
  return promptBytes(prompt) + aroundMessages + aroundTools;
}

/** Tokens of so many bytes of text, quickly: four bytes a token, rounded up. */
export function roughTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}
