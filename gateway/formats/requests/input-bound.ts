// The maximum number of tokens of a prompt, so that the hold covers the call whatever the vendor's tokenizer counts.
import type { Part, Prompt } from '#proto/inference/v1/inference.js';
import { utf8Length } from '#kit/utf8.js';

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
  for (const text of prompt.system) bound += utf8Length(text);
  for (const message of prompt.messages) bound += contentBytes(message.parts);
  for (const tool of prompt.tools) {
    bound += toolOverhead + utf8Length(tool.name) + utf8Length(tool.description) + utf8Length(tool.parametersJson);
    if (tool.custom !== undefined) bound += utf8Length(tool.custom.grammar);
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
      return utf8Length(part.value.text);
    case 'toolCall':
      return utf8Length(part.value.id) + utf8Length(part.value.name) + utf8Length(part.value.argumentsJson);
    case 'toolResult':
      return utf8Length(part.value.toolCallId) + utf8Length(part.value.text) + contentBytes(part.value.content);
    case 'reasoning':
      return utf8Length(part.value.text) + utf8Length(part.value.signature) + utf8Length(part.value.redactedData);
    case 'document': {
      const { title, context, filename, source } = part.value;
      return utf8Length(title) + utf8Length(context) + utf8Length(filename) + (source?.$case === 'text' ? utf8Length(source.value) : 0);
    }
    case 'image':
      // Counted by number: its bytes say nothing about its tokens.
      return 0;
  }
}
