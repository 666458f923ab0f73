// The messages format, for the HTTP client.
import { ApiFormat, type GenerateRequest } from '#proto/inference/v1/inference.js';
import { isCount } from '../../tokens/usage-report.js';
import { publishedOnly, withCallerFields, withOperatorFields } from '../requests/caller-fields.js';
import type { Wire } from '../http/wire.js';
import { nativeFor } from '../requests/native.js';
import { isObject } from '../answers/stream-decoder.js';
import { assertToolsAllowed, assertToolsCountable } from '../requests/vendor-tools.js';
import { sortBetas } from './betas.js';
import { sentReasoning } from './content.js';
import { responseError } from './error.js';
import { countTokensBody, defaultMessagesVersion, messagesBody } from './request.js';
import { MessagesDecoder } from './stream.js';

/** Returns the messages wire format for the upstream `upstreamId` at `baseUrl`, which also takes `allowedFields` from callers of the format. */
export function messagesWire(upstreamId: string, baseUrl: string, allowedFields: readonly string[] = []): Wire {
  const rules = withOperatorFields(publishedOnly, allowedFields);
  const format = ApiFormat.API_FORMAT_MESSAGES;
  const betasOf = (request: Pick<GenerateRequest, 'native'>) => sortBetas(nativeFor(request, format)?.messagesBetas ?? [], allowedFields);
  return {
    format,
    providerName: /(^|\.)anthropic\.com$/.test(new URL(baseUrl).hostname) ? 'anthropic' : upstreamId,
    generatePath: '/messages',
    headers(secret, request) {
      const betas = betasOf(request).passed;
      return {
        // Always the caller's version, because the body was written for it.
        'anthropic-version': request.messagesVersion || defaultMessagesVersion,
        ...(betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {}),
        ...(secret === undefined ? {} : { 'x-api-key': secret }),
      };
    },
    generateBody(request, model, streams) {
      assertToolsAllowed(request, format, allowedFields);
      const body = withCallerFields(messagesBody(request, model, streams), request, format, rules);
      const { dropped } = betasOf(request);
      return dropped.length === 0 ? body : { ...body, dropped: [...body.dropped, ...dropped] };
    },
    sentReasoning,
    decoder: (_request, answer) => new MessagesDecoder(answer),
    responseError,
    count: {
      path: '/messages/count_tokens',
      body(request, model) {
        assertToolsCountable(request, format, allowedFields);
        return countTokensBody(request, model);
      },
      read: (answer) => (isObject(answer) && isCount(answer['input_tokens']) ? answer['input_tokens'] : undefined),
    },
  };
}
