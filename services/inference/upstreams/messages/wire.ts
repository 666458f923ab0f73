// The messages format as the HTTP client uses it.
import { isCount } from '../../tokens/usage-report.js';
import type { Wire } from '../http/wire.js';
import { isObject } from '../stream-decoder.js';
import { responseError } from './error.js';
import { countTokensBody, defaultMessagesVersion, messagesBody } from './request.js';
import { MessagesDecoder } from './stream.js';

/** Speaks messages with the upstream `upstreamId` at `baseUrl`. */
export function messagesWire(upstreamId: string, baseUrl: string): Wire {
  const version = (messagesVersion: string): string => messagesVersion || defaultMessagesVersion;
  return {
    providerName: /(^|\.)anthropic\.com$/.test(new URL(baseUrl).hostname) ? 'anthropic' : upstreamId,
    generatePath: '/messages',
    headers: (secret, messagesVersion) => ({
      'anthropic-version': version(messagesVersion),
      ...(secret === undefined ? {} : { 'x-api-key': secret }),
    }),
    generateBody: (request, model) => messagesBody(request, model, version(request.messagesVersion)),
    decoder: (_request, target, requestId) => new MessagesDecoder({ target, requestId }),
    responseError,
    count: {
      path: '/messages/count_tokens',
      body: (request, model) => countTokensBody(request.prompt!, request.reasoning, model),
      read: (answer) => (isObject(answer) && isCount(answer['input_tokens']) ? answer['input_tokens'] : undefined),
    },
  };
}
