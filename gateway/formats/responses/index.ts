// The responses format.
import type { Format } from '../format.js';
import { renderError } from '../errors/openai-error.js';
import { renderErrorFrame } from './error.js';
import { parseResponses } from './request.js';
import { collectResponse } from './response.js';
import { referencesOf } from './stored.js';
import { streamResponse } from './stream.js';

/** POST /v1/responses. */
export const responses: Format = {
  name: 'responses',
  parse: parseResponses,
  references: referencesOf,
  stream: streamResponse,
  collector: collectResponse,
  error: renderError,
  errorFrame: renderErrorFrame,
  // A comment: libraries validate every event.
  keepAlive: ': keep-alive\n\n',
};
