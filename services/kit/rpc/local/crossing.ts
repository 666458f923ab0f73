// How messages cross from one side of a local client to the other.
import { decodeRequest, decodeResponse, EncodedMessage, encodeRequest, encodeResponse } from '#client/codec.js';
import type { MethodInfo } from '#client/definition.js';

/** Converts each message from what one side sends into what the other side receives. */
export interface Crossing {
  request(info: MethodInfo, sent: unknown): unknown;
  response(info: MethodInfo, sent: unknown): unknown;
}

/** Encodes and decodes each message, so that both sides see what they would see over gRPC, and neither can change the other's objects. */
const encoded: Crossing = {
  request: (info, sent) => decodeRequest(info, encodeRequest(info, sent)),
  response: (info, sent) => decodeResponse(info, encodeResponse(info, sent)),
};

/** Hands over the objects themselves: neither side may change a message that it has sent or received. */
const shared: Crossing = {
  request: (info, sent) => (sent instanceof EncodedMessage ? decodeRequest(info, sent.bytes) : sent),
  response: (info, sent) => (sent instanceof EncodedMessage ? decodeResponse(info, sent.bytes) : sent),
};

/** Hands over the objects frozen, so that a side that changes a message fails with a TypeError. */
const frozen: Crossing = {
  request: (info, sent) => freeze(shared.request(info, sent)),
  response: (info, sent) => freeze(shared.response(info, sent)),
};

/** The ways in which messages can cross, by their names in TOLLGATE_SINGLE_MESSAGES. */
export const crossings = { shared, frozen, encoded } as const satisfies Record<string, Crossing>;

function freeze<T>(value: T): T {
  // The bytes of a Buffer cannot be frozen.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}
