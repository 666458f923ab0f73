// The chat-completions format, for the HTTP client.
import { newId } from '#kit/id.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { compatibleServers, publishedOnly, withCallerFields, withOperatorFields } from '../requests/caller-fields.js';
import type { Wire } from '../http/wire.js';
import { assertToolsAllowed, mayRunTools } from '../requests/vendor-tools.js';
import { embeddingsOf } from './embeddings.js';
import { responseError } from './error.js';
import { flavourOf, takesExtensions } from './flavour.js';
import { chatCompletionsBody } from './request.js';
import { ChatCompletionsDecoder } from './stream.js';
import { callerToolNames } from './tools/tool-names.js';

/** Returns the chat-completions wire format for the upstream `upstreamId` at `baseUrl`, which also takes `allowedFields` from callers of the format. */
export function chatCompletionsWire(upstreamId: string, baseUrl: string, allowedFields: readonly string[] = []): Wire {
  const flavour = flavourOf(baseUrl, allowedFields);
  const rules = withOperatorFields(flavour.isOpenAi ? publishedOnly : compatibleServers, allowedFields);
  const format = ApiFormat.API_FORMAT_CHAT_COMPLETIONS;
  return {
    format,
    providerName: flavour.isOpenAi ? 'openai' : upstreamId,
    generatePath: '/chat/completions',
    replacesCustomTools: flavour.takesCustomTools !== true,
    headers: (secret): Record<string, string> => (secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    generateBody(request, model, streams) {
      assertToolsAllowed(request, format, allowedFields);
      return withCallerFields(chatCompletionsBody(request, model, flavour, streams), request, format, rules);
    },
    sentReasoning: ({ text }) => ({ text: takesExtensions(flavour) ? text : '', encrypted: '' }),
    decoder: (request, answer) =>
      new ChatCompletionsDecoder({
        ...answer,
        stopSequences: request.stopSequences,
        choices: request.choices,
        runsTools: mayRunTools(request, format, allowedFields),
        toCallerName: answer.isNative ? (name) => name : callerToolNames(request.prompt!.tools),
        newToolCallId: () => newId('call'),
      }),
    embeddings: embeddingsOf(flavour, allowedFields),
    responseError,
  };
}
