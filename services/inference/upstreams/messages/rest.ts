// The rest of a messages answer: what its upstream sends alongside the meaning, for callers of the same format. Pure.
import { merged, restJson, restOf, withoutAccount } from '../answers/rest.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

const none: ReadonlySet<string> = new Set();
const inMessage = new Set(['id', 'type', 'role', 'model', 'content', 'stop_reason', 'stop_sequence', 'usage']);
const inUsage = new Set([
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'cache_creation',
  'output_tokens_details',
]);
const inCacheCreation = new Set(['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']);
const inOutputDetails = new Set(['thinking_tokens']);
const inBlock: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(['type', 'text']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
  tool_use: new Set(['type', 'id', 'name', 'input']),
};
const inDelta: Readonly<Record<string, ReadonlySet<string>>> = {
  text_delta: new Set(['type', 'text']),
  thinking_delta: new Set(['type', 'thinking']),
  signature_delta: new Set(['type', 'signature']),
  input_json_delta: new Set(['type', 'partial_json']),
};
const inAroundEvent = new Set(['type', 'index', 'message', 'content_block', 'delta']);
const inBlockStop = new Set(['type', 'index']);
const inEndEvent = new Set(['type', 'delta', 'usage']);
const inEnd = new Set(['stop_reason', 'stop_sequence']);
const typeOnly = new Set(['type']);

/** Returns the rest of the message in message_start. */
export function startedRest(message: JsonObject): string | undefined {
  const usage = usageRest(message['usage']);
  const rest = merged(withoutAccount(restOf(message, inMessage)), usage === undefined ? undefined : { usage });
  return rest === undefined ? undefined : JSON.stringify(rest);
}

/** Returns the rest of a block of a known type. */
export function blockRest(block: JsonObject): string | undefined {
  return restJson(block, inBlock[String(block['type'])] ?? none);
}

/** Returns the rest of a delta of a known type. */
export function deltaRest(delta: JsonObject, type: string): string | undefined {
  return restJson(delta, inDelta[type] ?? none);
}

/** Returns the rest of message_start, content_block_start and content_block_delta, alongside the message, block or delta in them. */
export function envelopeRest(event: JsonObject): string | undefined {
  const rest = withoutAccount(restOf(event, inAroundEvent));
  return rest === undefined ? undefined : JSON.stringify(rest);
}

/** Returns the rest of content_block_stop. */
export function blockStopRest(event: JsonObject): string | undefined {
  return restJson(event, inBlockStop);
}

/** Returns the rest of message_delta, which includes its stop reason if that has no common form. */
export function endRest(event: JsonObject, isCommonReason: boolean): JsonObject | undefined {
  const delta = isObject(event['delta']) ? restOf(event['delta'], isCommonReason ? inEnd : none) : undefined;
  const usage = usageRest(event['usage']);
  const rest = withoutAccount(restOf(event, inEndEvent));
  if (delta === undefined && usage === undefined) return rest;
  return { ...(delta === undefined ? {} : { delta }), ...(usage === undefined ? {} : { usage }), ...rest };
}

/** Returns the rest of message_stop; some servers put figures there. */
export function stopRest(event: JsonObject): JsonObject | undefined {
  return withoutAccount(restOf(event, typeOnly));
}

function usageRest(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined;
  const parts: Record<string, unknown> = {};
  for (const [name, known] of [
    ['cache_creation', inCacheCreation],
    ['output_tokens_details', inOutputDetails],
  ] as const) {
    const part = isObject(usage[name]) ? restOf(usage[name], known) : undefined;
    if (part !== undefined) parts[name] = part;
  }
  return merged(withoutAccount(restOf(usage, inUsage)), Object.keys(parts).length === 0 ? undefined : parts);
}
