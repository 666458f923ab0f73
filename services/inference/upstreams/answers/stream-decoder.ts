// The common interface of the wire formats' decoders: SSE payloads in, canonical events and a usage report out. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { Event, StopReason } from '#proto/inference/v1/inference.js';
import type { UsageReport } from '../../tokens/usage-report.js';

/** Describes how an answer ended. */
export interface Outcome {
  readonly stopReason: StopReason;
  /** The stop sequence that was matched; empty if unknown or none. */
  readonly stopSequence: string;
  /** What the upstream sent alongside the end and the usage, as the extra_json of `finished`; absent if nothing. */
  readonly extraJson?: string;
}

/** Decodes one answer into all events except `finished`, which needs the usage: the reader creates it from `outcome` and `report`. */
export interface StreamDecoder {
  /** Returns the events of one SSE payload. Raises upstream_* for error frames and for payloads that break the format. */
  push(data: string): Event[];
  /** Returns the last events, at the end of the body. Raises upstream_failed if the answer is not complete. */
  end(): Event[];
  /** Set once the answer is complete and nothing more needs to be read. */
  readonly outcome: Outcome | undefined;
  /** Whether only the usage and the end of the body can still be missing. */
  readonly hasAllContent: boolean;
  /** Whether `report` came with the end of the answer, so that it includes all output. */
  readonly isReportFinal: boolean;
  /** The usage that the upstream has reported so far. */
  readonly report: UsageReport;
}

/** A JSON object of a payload. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reports whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value of a JSON text; undefined for anything else, such as the HTML pages of proxies. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the object in an SSE payload. Raises upstream_failed if there is none. */
export function parsePayload(data: string): JsonObject {
  const value = parsedJson(data);
  if (value === undefined) throw malformed('a payload that is not JSON');
  if (!isObject(value)) throw malformed('a payload that is not an object');
  return value;
}

/** Returns a text field that may be absent or null. Raises upstream_failed for any other type. */
export function optionalTextField(object: JsonObject, name: string): string {
  const value = object[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw malformed(`a field "${name}" that is not text`);
  return value;
}

/** Returns a text; empty for anything else. */
export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns a list; empty for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the error for a stream that breaks its format. `what` is for operators and completes "sent …". */
export function malformed(what: string): AppError {
  return new AppError('upstream_failed', 'The upstream sent a malformed answer.', { cause: new Error(`The upstream sent ${what}.`) });
}

/** Returns the error for a stream that ends too early. */
export function brokenOff(): AppError {
  return new AppError('upstream_failed', 'The upstream ended its answer early.');
}
