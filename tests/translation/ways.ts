// The pure functions at both ends of a call, combined: from the caller's body through the gateway and inference to the upstream, and back.
import { chatCompletions } from '../../gateway/formats/chat-completions/index.js';
import { type Format, unfilledRequest } from '../../gateway/formats/format.js';
import { messages } from '../../gateway/formats/messages/index.js';
import { responses } from '../../gateway/formats/responses/index.js';
import { chatCompletionsWire } from '../../services/inference/upstreams/chat-completions/wire.js';
import type { Wire } from '../../services/inference/upstreams/http/wire.js';
import { messagesWire } from '../../services/inference/upstreams/messages/wire.js';
import { responsesWire } from '../../services/inference/upstreams/responses/wire.js';
import { GenerateRequest } from '#proto/inference/v1/inference.js';
import type { WireName } from '../conformance/support/paths.js';

/** The formats of callers. */
export const formats: Readonly<Record<WireName, Format>> = { 'chat-completions': chatCompletions, messages, responses };

/** The formats of upstreams. */
export const wires: Readonly<Record<WireName, Wire>> = {
  'chat-completions': chatCompletionsWire('u', 'https://vendor.test/v1'),
  messages: messagesWire('u', 'https://vendor.test/v1'),
  responses: responsesWire('u', 'https://vendor.test/v1'),
};

/** All combinations of them. */
export const ways: readonly (readonly [WireName, WireName])[] = (Object.keys(formats) as WireName[]).flatMap((client) =>
  (Object.keys(wires) as WireName[]).map((upstream) => [client, upstream] as const),
);

/** Returns the call as inference receives it, encoded as between processes. */
export function commonCall(client: WireName, body: unknown): GenerateRequest {
  const { request, maxOutputTokens = 4000, inputTokensMax } = formats[client].parse(body, {});
  const filled = { ...unfilledRequest, ...request, callId: 'req_1', maxOutputTokens, inputTokensMax: inputTokensMax + 10_000 };
  return GenerateRequest.decode(GenerateRequest.encode(GenerateRequest.fromPartial(filled)).finish());
}
