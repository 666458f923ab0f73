// What the gRPC client and server agree on beyond gRPC itself: metadata names, how errors and trace context travel, limits.
import { Metadata, type ServiceError, status as grpcStatus } from '@grpc/grpc-js';
import type { Reason } from '#rules/errors/reasons.js';
import { abortError, AppError, internalMessage } from '../errors/app-error.js';
import { decodeRpcStatus, encodeRpcStatus } from '../errors/rpc-status.js';
import { messageBytesMax } from '../codec.js';
import './closing-pings.js';

/** Metadata with the caller's name, for connections without a certificate. */
export const callerKey = 'tollgate-caller';

// https://google.aip.dev/193, and grpc/status in each gRPC library.
const statusKey = 'grpc-status-details-bin';

/** Metadata that carries the signed token of the user on whose behalf the caller acts. */
export const actorKey = 'tollgate-actor';

// Node's HTTP/2 rejects header blocks beyond 64 KiB and other stacks beyond 8 KiB; base64 turns 3 bytes into 4.
const errorBytesMax = 4096;

const pingMs = 5000;
const pingTimeoutMs = 10_000;

/**
 * The maximum time until a dead connection is detected. A connection is dead when the peer disappears without closing it, and sometimes when the peer's
 * process dies: Node's HTTP/2 over TLS misses the end of a connection to which it wrote before it had read the last data
 * (https://github.com/nodejs/node/issues/61304). Calls must survive that, so this time is well below the lease of a call in flight.
 */
export const deadConnectionMsMax = pingMs + pingTimeoutMs;

/** Channel options of both sides. */
export const commonChannelOptions = {
  'grpc.max_receive_message_length': messageBytesMax,
  'grpc.max_send_message_length': messageBytesMax,
  ...keepalive(pingMs, pingTimeoutMs),
} as const;

/** Returns the channel options that detect a dead connection within the sum of these times. */
export function keepalive(everyMs: number, timeoutMs: number) {
  return { 'grpc.keepalive_time_ms': everyMs, 'grpc.keepalive_timeout_ms': timeoutMs } as const;
}

/**
 * Returns the beginning of a message, for the header `grpc-message`. Half of a surrogate pair, as in a text that was cut, is replaced: grpc-js cannot
 * encode it, and the server would end with an uncaught error. A header that is too long would end the connection, with all of its calls.
 */
export function headerText(message: string): string {
  return Buffer.from(message.slice(0, errorBytesMax / 4)).toString();
}

/** Returns the trailers that carry an error. Details that do not fit are left out; the reason and the message always travel. */
export function errorTrailers(error: AppError): Metadata {
  const trailers = new Metadata();
  let bytes = encodeRpcStatus(error);
  if (bytes.length > errorBytesMax) {
    const retry = error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs };
    bytes = encodeRpcStatus(new AppError(error.reason, headerText(error.message), retry));
  }
  trailers.set(statusKey, bytes);
  return trailers;
}

// The meaning of a status that none of our services returned: it comes from the connection, the gRPC library or a proxy in between.
const reasonOfStatus: Readonly<Partial<Record<number, readonly [Reason, string]>>> = {
  // `fromServiceError` handles our own cancellations first; any other cancellation comes from a server that was stopped.
  [grpcStatus.CANCELLED]: ['service_unavailable', 'ended the call early'],
  // Of a connection that was lost while the call ended. Errors of our services have details.
  [grpcStatus.INTERNAL]: ['service_unavailable', 'ended the call without a status'],
  [grpcStatus.DEADLINE_EXCEEDED]: ['deadline_exceeded', 'did not answer in time'],
  [grpcStatus.UNAVAILABLE]: ['service_unavailable', 'cannot be reached'],
  [grpcStatus.RESOURCE_EXHAUSTED]: ['overloaded', 'refused the call for its size or number'],
  [grpcStatus.UNIMPLEMENTED]: ['unimplemented', 'does not offer this call'],
};

/** Returns the error of a failed call: the service's own, or the meaning of the connection's failure. `signal` is the caller's. */
export function fromServiceError(error: ServiceError, rpc: string, signal: AbortSignal): AppError {
  if (signal.aborted) return abortError(signal);
  const carried = error.metadata?.get(statusKey)[0];
  const decoded = Buffer.isBuffer(carried) ? decodeRpcStatus(carried) : undefined;
  if (decoded !== undefined) return decoded;
  const [reason, text] = reasonOfStatus[error.code] ?? ['internal', undefined];
  const message = text === undefined ? internalMessage : `${rpc}: the service ${text}.`;
  return new AppError(reason, message, { cause: error });
}
