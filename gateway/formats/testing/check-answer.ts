// Checks what a caller gets, in either format, by schemas and rules that are not the encoders' own. For tests of every kind: nothing here
// needs a test runner. Each function returns what is wrong, a line each.
import type { Format } from '../format.js';
import { isObject } from '../rest.js';
import { schemaFaults } from './answer-schemas.js';
import { type AnswerKind, chatCompletionStreamFaults } from './check-chat-completions.js';
import { messageStreamFaults } from './check-messages.js';

export type { AnswerKind } from './check-chat-completions.js';

type FormatName = Format['name'];

/** Of the text of a stream that has ended. */
export function streamFaults(format: FormatName, text: string, kind?: AnswerKind): string[] {
  return format === 'messages' ? messageStreamFaults(text, kind) : chatCompletionStreamFaults(text, kind);
}

/** Of the body of a whole answer. */
export function answerFaults(format: FormatName, body: unknown, kind: AnswerKind = {}): string[] {
  if (format === 'chat-completions') return schemaFaults('chat-completion', body, kind.native);
  const faults = schemaFaults('message', body, kind.native);
  if (isObject(body) && body['stop_reason'] === null) faults.push('there is no stop reason');
  const content = isObject(body) && Array.isArray(body['content']) ? (body['content'] as unknown[]) : [];
  for (const block of content)
    if (isObject(block) && block['type'] === 'text' && block['text'] === '') faults.push('a text block is empty');
  return faults;
}

/** Of the body of a refusal. */
export function errorFaults(format: FormatName, body: unknown): string[] {
  return schemaFaults(format === 'messages' ? 'message-error' : 'chat-completion-error', body);
}

/** Of the body of a token count. */
export function tokenCountFaults(body: unknown): string[] {
  return schemaFaults('token-count', body);
}
