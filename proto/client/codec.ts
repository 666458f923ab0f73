// Encodes and decodes messages, with the size limit, in one place for all transports, so that they reject the same messages.
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { AppError } from './errors/app-error.js';
import type { MessageType, MethodInfo } from './definition.js';

/**
 * The largest message, 72 MiB. The largest public model API accepts 32 MiB as a request body
 * (https://platform.claude.com/docs/en/api/overview#request-size-limits), and a call carries such a body twice: parsed, and as
 * the caller wrote it. gRPC's own default of 4 MiB is too small for images.
 */
export const messageBytesMax = 72 * 1024 * 1024;

/** A stream message in its wire form, for senders that encode its parts one by one; transports send the bytes as they are. */
export class EncodedMessage {
  constructor(readonly bytes: Buffer) {}
}

/** Encodes a request. Raises body_too_large when it has more than `messageBytesMax` bytes. */
export function encodeRequest(info: MethodInfo, request: unknown): Buffer {
  const bytes = encodeMessage(info.definition.requestType, request);
  if (bytes.length > messageBytesMax) {
    throw new AppError('body_too_large', `The request of ${info.fullName} has ${bytes.length} bytes; the limit is ${messageBytesMax}.`, {
      details: { limit_bytes: String(messageBytesMax) },
    });
  }
  return bytes;
}

/** Decodes a request for the service. Raises invalid_request for bytes that are not such a message. */
export function decodeRequest(info: MethodInfo, bytes: Uint8Array): unknown {
  try {
    return info.definition.requestType.decode(bytes);
  } catch (error) {
    throw new AppError('invalid_request', `The bytes sent to ${info.fullName} are not a message of its request type.`, { cause: error });
  }
}

/** Encodes a response. Throws when it is too large: a service must page or stream instead. */
export function encodeResponse(info: MethodInfo, response: unknown): Buffer {
  const bytes = encodeMessage(info.definition.responseType, response);
  if (bytes.length > messageBytesMax)
    throw new Error(`The response of ${info.fullName} has ${bytes.length} bytes; the limit is ${messageBytesMax}.`);
  return bytes;
}

/** Decodes a response for the client. */
export function decodeResponse(info: MethodInfo, bytes: Uint8Array): unknown {
  return info.definition.responseType.decode(bytes);
}

// One shared writer: it keeps its memory between messages, and allocation is a third of the cost of a small message.
let writer = new BinaryWriter();
const keptBytesMax = 64 * 1024;

/** Returns the bytes of a message of any size. Throws for a value that its field cannot hold. */
export function encodeMessage(type: MessageType, message: unknown): Buffer {
  if (message instanceof EncodedMessage) return message.bytes;
  let bytes: Uint8Array | undefined;
  try {
    bytes = type.encode(message as never, writer).finish();
  } finally {
    // A failed encoding leaves partial output in the writer, and a large message leaves a large buffer.
    if (bytes === undefined || bytes.length > keptBytesMax) writer = new BinaryWriter();
  }
  // grpc-js copies with a Buffer method; this is a view, not a copy.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
