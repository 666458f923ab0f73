// Errors in the chat-completions format.
import type { AppError } from '#client/errors/app-error.js';
import { renderError } from '../errors/openai-error.js';

/** Returns the frame for an error inside a stream that has begun. */
export function renderErrorFrame(error: AppError, requestId: string): string {
  return `data: ${JSON.stringify(renderError(error, requestId).body)}\n\n`;
}
