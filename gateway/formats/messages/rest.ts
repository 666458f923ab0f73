// The rest of a messages answer: what its upstream sent alongside the meaning of message_start, blocks, deltas and message_delta. Pure.
import { filled, isObject, type JsonObject, mergeInto, objectIn, parseObject, without } from '../rest.js';

const oursInMessage = new Set(['id', 'type', 'role', 'model', 'content', 'stop_reason', 'stop_sequence', 'usage']);
const oursInUsage = new Set(['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']);
const partsInUsage = ['cache_creation', 'output_tokens_details'];
const oursInBlock = new Set(['type', 'text', 'thinking', 'signature', 'data', 'id', 'name', 'input']);
const oursAround = new Set(['type', 'index', 'message', 'content_block', 'delta']);
const oursInEnd = new Set(['type', 'delta', 'usage']);
const oursInDelta = new Set(['stop_reason', 'stop_sequence', 'stop_details']);
const typeOnly = new Set(['type']);

/** Returns a message before its content, with its rest. */
export function messageWith<M extends object>(message: M, rest: JsonObject): M {
  return { ...message, ...without(rest, oursInMessage) };
}

/** Returns the recorded usage plus other figures of the upstream; where both have a field, ours is kept. */
export function usageWith<U extends object>(usage: U, rest: JsonObject): U {
  const all: JsonObject = { ...usage, ...without(rest, oursInUsage) };
  for (const name of partsInUsage) if (name in usage) all[name] = filled(objectIn(usage as JsonObject, name), objectIn(rest, name));
  return all as U;
}

/** Returns a block as it opens, with its rest. */
export function blockWith(block: JsonObject, rest: JsonObject | undefined): JsonObject {
  return rest === undefined ? block : { ...block, ...without(rest, oursInBlock) };
}

/** Returns the fields of an event alongside its message, block or delta; none of them may replace ours. */
export function besideOf(json: string | undefined): JsonObject {
  return json === undefined ? {} : without(parseObject(json), oursAround);
}

/** Holds the rest of message_delta. */
export interface EndRest {
  /** Fields of the event itself. */
  readonly event: JsonObject;
  /** Fields of its delta, which belong to the message. */
  readonly delta: JsonObject;
  readonly usage: JsonObject;
  /** A stop reason without a common form; undefined if there is none. */
  readonly stopReason: string | undefined;
  readonly stopSequence: string | undefined;
  readonly stopDetails: JsonObject | undefined;
}

/** Parses the rest of message_delta. */
export function endRestOf(json: string | undefined): EndRest {
  const rest = json === undefined ? {} : parseObject(json);
  const delta = objectIn(rest, 'delta');
  const text = (name: string): string | undefined => (typeof delta[name] === 'string' ? delta[name] : undefined);
  return {
    event: without(rest, oursInEnd),
    delta: without(delta, oursInDelta),
    usage: objectIn(rest, 'usage'),
    stopReason: text('stop_reason'),
    stopSequence: text('stop_sequence'),
    stopDetails: isObject(delta['stop_details']) ? delta['stop_details'] : undefined,
  };
}

/** For deltas with a common form, the field that their block receives; their other fields are not part of any block. */
const knownDeltas: Readonly<Record<string, string>> = { text_delta: 'text', thinking_delta: 'thinking', signature_delta: 'signature' };

/** Adds a delta without a common form to its block, as the vendor's own libraries do. */
export function addForeignDelta(block: JsonObject, json: string): void {
  const delta = parseObject(json);
  const type = String(delta['type']);
  const field = Object.hasOwn(knownDeltas, type) ? knownDeltas[type] : undefined;
  if (type === 'citations_delta')
    block['citations'] = [...(Array.isArray(block['citations']) ? (block['citations'] as unknown[]) : []), delta['citation']];
  else if (field !== undefined) mergeInto(block, { [field]: delta[field] ?? null }, 'pieces');
  else if (type !== 'input_json_delta') mergeInto(block, without(delta, typeOnly), 'pieces');
}

// The encoder writes these itself; and an error is not part of an answer.
const ownEvents = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
]);

/** Returns the type of an event that is relayed unchanged; undefined if it must not be relayed. */
export function foreignEventType(json: string): string | undefined {
  const type = parseObject(json)['type'];
  return typeof type === 'string' && /^[\w.-]+$/.test(type) && !ownEvents.has(type) ? type : undefined;
}
