// The responses format, for the HTTP client.
import { newId } from '#kit/id.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { isCount } from '../../tokens/usage-report.js';
import { compatibleServers, publishedOnly, withCallerFields, withOperatorFields } from '../requests/caller-fields.js';
import { embeddingsOf } from '../chat-completions/embeddings.js';
import { responseError } from '../chat-completions/error.js';
import { flavourOf } from '../chat-completions/flavour.js';
import { callerToolNames } from '../chat-completions/tools/tool-names.js';
import type { Wire } from '../http/wire.js';
import { isObject } from '../answers/stream-decoder.js';
import { assertToolsAllowed, assertToolsCountable, mayRunTools, withOptionalTools } from '../requests/vendor-tools.js';
import { sentReasoning } from './input-items.js';
import { countTokensBody, responsesBody } from './request.js';
import { ResponsesDecoder } from './stream.js';

/** Returns the responses wire format for the upstream `upstreamId` at `baseUrl`, which also takes `allowedFields` from callers of the format. */
export function responsesWire(upstreamId: string, baseUrl: string, allowedFields: readonly string[] = []): Wire {
  const flavour = flavourOf(baseUrl);
  const rules = withOperatorFields(flavour.isOpenAi ? publishedOnly : compatibleServers, allowedFields);
  const format = ApiFormat.API_FORMAT_RESPONSES;
  return {
    format,
    providerName: flavour.isOpenAi ? 'openai' : upstreamId,
    generatePath: '/responses',
    headers: (secret): Record<string, string> => (secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    generateBody(request, model, streams) {
      assertToolsAllowed(request, format, allowedFields);
      const { request: complete, dropped } = withOptionalTools(request, format, allowedFields);
      const body = responsesBody(complete, model, flavour, streams);
      return withCallerFields({ ...body, dropped: [...body.dropped, ...dropped] }, request, format, rules);
    },
    sentReasoning: (part) => sentReasoning(part, flavour.isOpenAi),
    decoder: (request, answer) =>
      new ResponsesDecoder({
        ...answer,
        runsTools: mayRunTools(request, format, allowedFields),
        toCallerName: answer.isNative ? (name) => name : callerToolNames(request.prompt!.tools),
        newId,
      }),
    embeddings: embeddingsOf(flavour, allowedFields),
    responseError,
    // Other servers have no such path.
    ...(flavour.isOpenAi
      ? {
          count: {
            path: '/responses/input_tokens',
            body(request, model) {
              assertToolsCountable(request, format, allowedFields);
              return countTokensBody(request, model, flavour);
            },
            read: (answer) => (isObject(answer) && isCount(answer['input_tokens']) ? answer['input_tokens'] : undefined),
          },
        }
      : {}),
  };
}
