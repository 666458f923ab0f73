// The messages format as the HTTP client uses it.
import { isCount } from '../../tokens/usage-report.js';
import { WireFormat } from '#proto/inference/v1/inference.js';
import type { Wire } from '../http/wire.js';
import { droppedFor } from '../native.js';
import { isObject } from '../stream-decoder.js';
import { responseError } from './error.js';
import { countTokensBody, defaultMessagesVersion, messagesBody } from './request.js';
import { MessagesDecoder } from './stream.js';

/** Speaks messages with the upstream `upstreamId` at `baseUrl`. */
export function messagesWire(upstreamId: string, baseUrl: string): Wire {
  const version = (messagesVersion: string): string => messagesVersion || defaultMessagesVersion;
  return {
    format: WireFormat.WIRE_FORMAT_MESSAGES,
    providerName: /(^|\.)anthropic\.com$/.test(new URL(baseUrl).hostname) ? 'anthropic' : upstreamId,
    generatePath: '/messages',
    headers: (secret, { messagesVersion }) => ({
      'anthropic-version': version(messagesVersion),
      ...(secret === undefined ? {} : { 'x-api-key': secret }),
    }),
    generateBody: (request, model) => ({
      json: JSON.stringify(messagesBody(request, model, version(request.messagesVersion))),
      dropped: droppedFor(request, WireFormat.WIRE_FORMAT_MESSAGES),
    }),
    decoder: (_request, answer) => new MessagesDecoder(answer),
    responseError,
    count: {
      path: '/messages/count_tokens',
      body: (request, model) => JSON.stringify(countTokensBody(request.prompt!, request.reasoning, model)),
      read: (answer) => (isObject(answer) && isCount(answer['input_tokens']) ? answer['input_tokens'] : undefined),
    },
  };
}
