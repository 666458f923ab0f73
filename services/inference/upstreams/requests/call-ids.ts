// The ids of tool calls in a conversation. Pure.
import type { Prompt } from '#proto/inference/v1/inference.js';

/** Returns the ids of all tool calls in a conversation. */
export function callIdsIn({ messages }: Pick<Prompt, 'messages'>): string[] {
  return messages.flatMap(({ parts }) => parts.flatMap(({ part }) => (part?.$case === 'toolCall' ? [part.value.id] : [])));
}
