// The maximum number of tokens of a prompt, so that the hold covers the call whatever the vendor's tokenizer counts.
import type { Part, Prompt } from '#proto/inference/v1/inference.js';

// No tokenizer in use produces more tokens than bytes; the constants cover what vendors add around messages and tools.
/** Tokens that a vendor puts around a message at most. */
export const messageOverhead = 64;
const toolOverhead = 512;
const toolsOverhead = 1024;

/**
 * Returns the UTF-8 bytes of all text in the prompt, plus 64 for each message, 512 for each tool, and 1024 if there are tools.
 * Content without a common form is added separately (`Demands.foreignTokensMax`); images and documents are counted by number.
 */
export function inputTokensMax(prompt: Prompt): number {
  let bound = prompt.system.length * messageOverhead + prompt.messages.length * messageOverhead;
  for (const text of prompt.system) bound += Buffer.byteLength(text);
  for (const message of prompt.messages) bound += contentBytes(message.parts);
  for (const tool of prompt.tools) {
    bound += toolOverhead + Buffer.byteLength(tool.name) + Buffer.byteLength(tool.description) + Buffer.byteLength(tool.parametersJson);
    if (tool.custom !== undefined) bound += Buffer.byteLength(tool.custom.grammar);
  }
  return prompt.tools.length === 0 ? bound : bound + toolsOverhead;
}

function contentBytes(parts: readonly Part[]): number {
  let bytes = 0;
  for (const { part } of parts) if (part !== undefined) bytes += partBytes(part);
  return bytes;
}

function partBytes(part: NonNullable<Part['part']>): number {
  switch (part.$case) {
    case 'text':
      return Buffer.byteLength(part.value.text);
    case 'toolCall':
      return Buffer.byteLength(part.value.id) + Buffer.byteLength(part.value.name) + Buffer.byteLength(part.value.argumentsJson);
    case 'toolResult':
      return Buffer.byteLength(part.value.toolCallId) + Buffer.byteLength(part.value.text) + contentBytes(part.value.content);
    case 'reasoning':
      return Buffer.byteLength(part.value.text) + Buffer.byteLength(part.value.signature) + Buffer.byteLength(part.value.redactedData);
    case 'document': {
      const { title, context, filename, source } = part.value;
      return (
        Buffer.byteLength(title) +
        Buffer.byteLength(context) +
        Buffer.byteLength(filename) +
        (source?.$case === 'text' ? Buffer.byteLength(source.value) : 0)
      );
    }
    case 'image':
      // Counted by number: its bytes say nothing about its tokens.
      return 0;
  }
}
