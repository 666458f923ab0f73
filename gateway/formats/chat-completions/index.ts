// The chat-completions format.
import type { Format } from '../format.js';
import { renderError } from '../errors/openai-error.js';
import { renderErrorFrame } from './error.js';
import { parseChatCompletions } from './request.js';
import { collectChatCompletion } from './response.js';
import { streamChatCompletion } from './stream.js';

/** POST /v1/chat/completions. */
export const chatCompletions: Format = {
  name: 'chat-completions',
  parse: parseChatCompletions,
  stream: streamChatCompletion,
  collector: collectChatCompletion,
  error: renderError,
  errorFrame: renderErrorFrame,
  // A comment: every other frame that is not a chunk breaks some client of this format.
  keepAlive: ': keep-alive\n\n',
};
