// The chat-completions format, for the HTTP client.
import { newId } from '#kit/id.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import type { Wire } from '../http/wire.js';
import { responseError } from './error.js';
import { flavourOf } from './flavour.js';
import { chatCompletionsBody } from './request.js';
import { ChatCompletionsDecoder } from './stream.js';
import { callerToolNames } from './tool-names.js';

/** Returns the chat-completions wire format for the upstream `upstreamId` at `baseUrl`. */
export function chatCompletionsWire(upstreamId: string, baseUrl: string): Wire {
  const flavour = flavourOf(baseUrl);
  return {
    format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
    providerName: flavour.isOpenAi ? 'openai' : upstreamId,
    generatePath: '/chat/completions',
    headers: (secret): Record<string, string> => (secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    generateBody: (request, model, streams) => chatCompletionsBody(request, model, flavour, streams),
    decoder: (request, answer) =>
      new ChatCompletionsDecoder({
        ...answer,
        stopSequences: request.stopSequences,
        toCallerName: answer.isNative ? (name) => name : callerToolNames(request.prompt!.tools),
        newToolCallId: () => newId('call'),
      }),
    responseError,
  };
}
