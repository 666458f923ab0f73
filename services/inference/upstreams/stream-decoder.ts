// What the two wire formats' decoders have in common: SSE payloads in, canonical events and a usage report out. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { Event, StopReason } from '#proto/inference/v1/inference.js';
import type { UsageReport } from '../tokens/usage-report.js';

/** How an answer ended. */
export interface Outcome {
  readonly stopReason: StopReason;
  /** The sequence that was met; empty when unknown or none. */
  readonly stopSequence: string;
  /** What the upstream said beside the end and the usage, as the extra_json of `finished`; absent: nothing. */
  readonly extraJson?: string;
}

/** Decodes one answer. All events but `finished`, which needs the usage and is made from `outcome` and `report` by whoever reads. */
export interface StreamDecoder {
  /** The events of one SSE payload. Raises upstream_* for error frames and for payloads that break the format. */
  push(data: string): Event[];
  /** The last events, at the end of the body. Raises upstream_failed when the answer is not complete. */
  end(): Event[];
  /** Set when the answer is complete; nothing more needs to be read. */
  readonly outcome: Outcome | undefined;
  /** What the upstream has said about usage up to now. */
  readonly report: UsageReport;
}

/** A JSON object of a payload. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in an SSE payload. Raises upstream_failed when there is none. */
export function parsePayload(data: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw malformed('a payload that is not JSON');
  }
  if (!isObject(value)) throw malformed('a payload that is not an object');
  return value;
}

/** A text field that may be absent or null. Raises upstream_failed for any other type. */
export function optionalTextField(object: JsonObject, name: string): string {
  const value = object[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw malformed(`a field "${name}" that is not text`);
  return value;
}

/** The error for a stream that breaks its format. `what` is for operators and completes "sent …". */
export function malformed(what: string): AppError {
  return new AppError('upstream_failed', 'The upstream sent a malformed answer.', { cause: new Error(`The upstream sent ${what}.`) });
}

/** The error for a stream that ends too early. */
export function brokenOff(): AppError {
  return new AppError('upstream_failed', 'The upstream broke off its answer.');
}
