// What differs between the wire formats, as far as the HTTP client needs to know.
import type { AppError } from '#kit/errors/app-error.js';
import type { CountTokensRequest, GenerateRequest, Target } from '#proto/inference/v1/inference.js';
import type { JsonObject, StreamDecoder } from '../stream-decoder.js';

/** Response headers, names in lower case. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** One wire format, spoken with one upstream. */
export interface Wire {
  /** The vendor's name in traces. */
  readonly providerName: string;
  /** Path of a generation below base_url. */
  readonly generatePath: string;
  /** Headers beside content-type: authentication and version. */
  headers(secret: string | undefined, messagesVersion: string): Record<string, string>;
  /** Body of a streaming generation. */
  generateBody(request: GenerateRequest, model: string): JsonObject;
  /** Decoder of its answer; `requestId` as the response headers give it. */
  decoder(request: GenerateRequest, target: Target, requestId: string): StreamDecoder;
  /** The error for a status other than 2xx. */
  responseError(status: number, headers: Headers, body: string, nowMs: number): AppError;
  /** The vendor's own token count, where it has one. */
  readonly count?: {
    readonly path: string;
    body(request: CountTokensRequest, model: string): JsonObject;
    /** The count in the answer's JSON; undefined when it is not there. */
    read(answer: unknown): number | undefined;
  };
}
