// Creates the upstream that settings describe.
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { chatCompletionsWire } from './chat-completions/wire.js';
import { HttpUpstream, type HttpUpstreamDeps, type HttpUpstreamSettings } from './http/http-upstream.js';
import type { Wire } from './http/wire.js';
import { messagesWire } from './messages/wire.js';
import type { RemoteWireFormat } from './remote-format.js';
import { responsesWire } from './responses/wire.js';
import type { Upstream } from './upstream.js';

/** Creates an upstream behind HTTP. */
export function createHttpUpstream(format: RemoteWireFormat, settings: HttpUpstreamSettings, deps: HttpUpstreamDeps): Upstream {
  return new HttpUpstream(settings, wireOf(format, settings), deps);
}

/** Returns the wire format for this upstream. */
export function wireOf(
  format: RemoteWireFormat,
  { id, baseUrl, allowedFields }: Pick<HttpUpstreamSettings, 'id' | 'baseUrl' | 'allowedFields'>,
): Wire {
  return wires[format](id, baseUrl, allowedFields);
}

const wires: Readonly<Record<RemoteWireFormat, typeof chatCompletionsWire>> = {
  [ApiFormat.API_FORMAT_CHAT_COMPLETIONS]: chatCompletionsWire,
  [ApiFormat.API_FORMAT_MESSAGES]: messagesWire,
  [ApiFormat.API_FORMAT_RESPONSES]: responsesWire,
};
