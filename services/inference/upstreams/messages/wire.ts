// The messages format, for the HTTP client.
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { isCount } from '../../tokens/usage-report.js';
import { publishedOnly, withCallerFields, withOperatorFields } from '../caller-fields.js';
import type { Wire } from '../http/wire.js';
import { nativeFor } from '../native.js';
import { isObject } from '../stream-decoder.js';
import { responseError } from './error.js';
import { countTokensBody, defaultMessagesVersion, messagesBody } from './request.js';
import { MessagesDecoder } from './stream.js';

/** Returns the messages wire format for the upstream `upstreamId` at `baseUrl`, which also takes `allowedFields` from callers of the format. */
export function messagesWire(upstreamId: string, baseUrl: string, allowedFields: readonly string[] = []): Wire {
  const rules = withOperatorFields(publishedOnly, allowedFields);
  const format = ApiFormat.API_FORMAT_MESSAGES;
  return {
    format,
    providerName: /(^|\.)anthropic\.com$/.test(new URL(baseUrl).hostname) ? 'anthropic' : upstreamId,
    generatePath: '/messages',
    headers(secret, request) {
      const betas = nativeFor(request, format)?.messagesBetas ?? [];
      return {
        // Always the caller's version, because the body was written for it.
        'anthropic-version': request.messagesVersion || defaultMessagesVersion,
        ...(betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {}),
        ...(secret === undefined ? {} : { 'x-api-key': secret }),
      };
    },
    generateBody: (request, model, streams) => withCallerFields(messagesBody(request, model, streams), request, format, rules),
    decoder: (_request, answer) => new MessagesDecoder(answer),
    responseError,
    count: {
      path: '/messages/count_tokens',
      body: countTokensBody,
      read: (answer) => (isObject(answer) && isCount(answer['input_tokens']) ? answer['input_tokens'] : undefined),
    },
  };
}
