// The messages format.
import type { Format } from '../format.js';
import { renderError, renderErrorFrame } from './error.js';
import { parseMessages } from './request.js';
import { collectMessage } from './response.js';
import { streamMessage } from './stream.js';

/** POST /v1/messages. */
export const messages: Format = {
  name: 'messages',
  parse: parseMessages,
  stream: streamMessage,
  collector: collectMessage,
  error: renderError,
  errorFrame: renderErrorFrame,
  keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
};
