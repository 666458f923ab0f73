// Checks what a caller receives, in any format, by schemas and rules that are independent of the encoders. For tests of any kind: nothing here
// needs a test runner. Each function returns what is wrong, one line each.
import type { GeneratingFormatName } from '../format.js';
import { isObject } from '../rest.js';
import { schemaFaults } from './answer-schemas.js';
import { type AnswerKind, chatCompletionStreamFaults } from './check-chat-completions.js';
import { messageStreamFaults } from './check-messages.js';
import { responseFaults, responseStreamFaults } from './check-responses.js';

export type { AnswerKind } from './check-chat-completions.js';

const checks: Readonly<Record<GeneratingFormatName, (text: string, kind?: AnswerKind) => string[]>> = {
  'chat-completions': chatCompletionStreamFaults,
  messages: messageStreamFaults,
  responses: responseStreamFaults,
};

/** Returns the faults of the text of a stream that has ended. */
export function streamFaults(format: GeneratingFormatName, text: string, kind?: AnswerKind): string[] {
  return checks[format](text, kind);
}

/** Returns the faults of the body of a whole answer. */
export function answerFaults(format: GeneratingFormatName, body: unknown, kind: AnswerKind = {}): string[] {
  if (format === 'responses') return responseFaults(body, kind);
  if (format === 'chat-completions') return schemaFaults('chat-completion', body, kind.native);
  const faults = schemaFaults('message', body, kind.native);
  if (isObject(body) && body['stop_reason'] === null) faults.push('there is no stop reason');
  const content = isObject(body) && Array.isArray(body['content']) ? (body['content'] as unknown[]) : [];
  for (const block of content)
    if (isObject(block) && block['type'] === 'text' && block['text'] === '') faults.push('a text block is empty');
  return faults;
}

/** Returns the faults of the body of an error. */
export function errorFaults(format: GeneratingFormatName, body: unknown): string[] {
  return schemaFaults(format === 'messages' ? 'message-error' : 'chat-completion-error', body);
}

/** Returns the faults of the body of a token count. */
export function tokenCountFaults(body: unknown): string[] {
  return schemaFaults('token-count', body);
}
