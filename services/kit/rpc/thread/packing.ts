// How a message crosses between threads: as a structured clone, or encoded.
//
// For the messages of a call, cloning costs two thirds of encoding and decoding (a hold: 6 µs for both ends and both ways in arrays of eight,
// instead of 9 µs). A large message is encoded and its bytes change hands, which checks its size as over gRPC.
import { decodeRequest, decodeResponse, EncodedMessage, encodeRequest, encodeResponse } from '#client/codec.js';
import type { MethodInfo } from '#client/definition.js';

/** A message as it is posted: a form, and the message or its bytes. */
export type Packed = readonly [form: number, content: unknown];

const plain = 0;
/** Bytes arrive as Uint8Array and are turned back into Buffers. */
const plainWithBytes = 1;
const encoded = 2;

/** Messages with more text and bytes than this are encoded. */
const clonedSizeMax = 64 * 1024;

/** Packs a request. Raises body_too_large. */
export function packRequest(info: MethodInfo, request: unknown): Packed {
  const form = formOf(request);
  return form === encoded ? [encoded, encodeRequest(info, request)] : [form, request];
}

/** Returns the request of the service. Raises invalid_request for bytes that are not such a message. */
export function unpackRequest(info: MethodInfo, [form, content]: Packed): unknown {
  return form === encoded ? decodeRequest(info, content as Uint8Array) : restored(form, content);
}

/** Packs a response. Throws when it is too large. */
export function packResponse(info: MethodInfo, response: unknown): Packed {
  const form = formOf(response);
  return form === encoded ? [encoded, encodeResponse(info, response)] : [form, response];
}

/** Returns the response of the client. */
export function unpackResponse(info: MethodInfo, [form, content]: Packed): unknown {
  return form === encoded ? decodeResponse(info, content as Uint8Array) : restored(form, content);
}

/** Returns the memory that changes hands with an encoded message. Bytes that other code encoded are not transferred. */
export function transferOf([form, content]: Packed): ArrayBuffer | undefined {
  if (form !== encoded) return undefined;
  const { buffer, byteLength } = content as Uint8Array<ArrayBuffer>;
  return byteLength > clonedSizeMax && buffer.byteLength === byteLength ? buffer : undefined;
}

function formOf(message: unknown): number {
  const found = { size: 0, hasBytes: false };
  if (message instanceof EncodedMessage || !isCloned(message, found)) return encoded;
  return found.hasBytes ? plainWithBytes : plain;
}

/** Reports whether a clone of the value equals it and is cheap. */
function isCloned(value: unknown, found: { size: number; hasBytes: boolean }): boolean {
  if (typeof value === 'string') return (found.size += value.length) <= clonedSizeMax;
  if (typeof value !== 'object' || value === null) return typeof value !== 'function' && typeof value !== 'symbol';
  if (ArrayBuffer.isView(value)) {
    found.hasBytes = true;
    // A clone copies all of the memory behind a view, such as Node's pool for small Buffers.
    return (found.size += value.buffer.byteLength) <= clonedSizeMax && value.buffer.byteLength === value.byteLength;
  }
  found.size += 8;
  if (Array.isArray(value)) {
    for (const part of value) if (!isCloned(part, found)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const name in value) if (!isCloned((value as Record<string, unknown>)[name], found)) return false;
  return true;
}

function restored(form: number, content: unknown): unknown {
  if (form === plainWithBytes) restoreBytes(content as Record<string, unknown>);
  return content;
}

/** The generated code and the services use the methods of Buffer. */
function restoreBytes(value: Record<string, unknown>): void {
  for (const name in value) {
    const part = value[name];
    if (typeof part !== 'object' || part === null) continue;
    if (ArrayBuffer.isView(part)) value[name] = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    else restoreBytes(part as Record<string, unknown>);
  }
}
