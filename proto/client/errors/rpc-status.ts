// Converts an AppError to and from google.rpc.Status, with details that gRPC libraries in every language can read.
// https://google.aip.dev/193
import { Any } from '#google/protobuf/any.js';
import { BadRequest, ErrorInfo, RetryInfo } from '#google/rpc/error_details.js';
import { Status } from '#google/rpc/status.js';
import { isReason } from '#rules/errors/reasons.js';
import { AppError } from './app-error.js';

/** The domain of all of our ErrorInfo details. */
export const errorDomain = 'tollgate';

const typeUrlOf = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

/** Returns the error as a google.rpc.Status: ErrorInfo always, RetryInfo when a retry may succeed, BadRequest when a field is invalid. */
export function toRpcStatus({ code, reason, message, details, retryAfterMs }: AppError): Status {
  const info = ErrorInfo.encode({ reason: reason.toUpperCase(), domain: errorDomain, metadata: { ...details } }).finish();
  const all: Any[] = [{ typeUrl: typeUrlOf('ErrorInfo'), value: Buffer.from(info) }];
  if (retryAfterMs !== undefined) {
    const retryDelay = { seconds: BigInt(Math.trunc(retryAfterMs / 1000)), nanos: Math.round((retryAfterMs % 1000) * 1e6) };
    all.push({ typeUrl: typeUrlOf('RetryInfo'), value: Buffer.from(RetryInfo.encode({ retryDelay }).finish()) });
  }
  const field = details['field'];
  if (field !== undefined) {
    const violation = BadRequest.encode({ fieldViolations: [{ field, description: message }] }).finish();
    all.push({ typeUrl: typeUrlOf('BadRequest'), value: Buffer.from(violation) });
  }
  return { code, message, details: all };
}

/**
 * Returns the error that one of our statuses carries, marked as remote; undefined for a status of another domain. A reason that this
 * version does not know becomes `internal`.
 */
export function fromRpcStatus({ message, details }: Status): AppError | undefined {
  const info = detailOf(details, 'ErrorInfo', ErrorInfo);
  if (info === undefined || info.domain !== errorDomain) return undefined;
  const reason = info.reason.toLowerCase();
  const delay = detailOf(details, 'RetryInfo', RetryInfo)?.retryDelay;
  return new AppError(isReason(reason) ? reason : 'internal', message, {
    details: info.metadata,
    remote: true,
    ...(delay === undefined ? {} : { retryAfterMs: Number(delay.seconds) * 1000 + delay.nanos / 1e6 }),
  });
}

/** Returns the bytes of the status for the trailer `grpc-status-details-bin`. */
export function encodeRpcStatus(error: AppError): Buffer {
  return Buffer.from(Status.encode(toRpcStatus(error)).finish());
}

/** Decodes the bytes of the trailer; returns undefined when they are not one of our statuses. */
export function decodeRpcStatus(bytes: Uint8Array): AppError | undefined {
  try {
    return fromRpcStatus(Status.decode(bytes));
  } catch {
    return undefined;
  }
}

function detailOf<T>(details: readonly Any[], name: string, codec: { decode(bytes: Uint8Array): T }): T | undefined {
  const found = details.find(({ typeUrl }) => typeUrl === typeUrlOf(name));
  return found === undefined ? undefined : codec.decode(found.value);
}
