// Makes the parts of a common message.
import type { Part } from '#proto/inference/v1/inference.js';

export function textPart(text: string): Part {
  return { part: { $case: 'text', value: { text } } };
}

export function toolCallPart(id: string, name: string, argumentsJson: string): Part {
  return { part: { $case: 'toolCall', value: { id, name, argumentsJson } } };
}

export function toolResultPart(toolCallId: string, text: string, isError: boolean): Part {
  return { part: { $case: 'toolResult', value: { toolCallId, text, isError, content: [] } } };
}

/** `redactedData` of a redacted block, whose text is empty. */
export function reasoningPart(text: string, signature: string, redactedData: string): Part {
  return { part: { $case: 'reasoning', value: { text, signature, redactedData } } };
}
