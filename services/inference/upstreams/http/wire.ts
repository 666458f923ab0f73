// What differs between the wire formats, as far as the HTTP client needs to know.
import type { AppError } from '#client/errors/app-error.js';
import type { CountTokensRequest, GenerateRequest, Target } from '#proto/inference/v1/inference.js';
import type { RemoteWireFormat } from '../remote-format.js';
import type { StreamDecoder } from '../stream-decoder.js';

/** Response headers, names in lower case. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** What is known of an answer before its first byte is read. */
export interface AnswerHead {
  readonly target: Target;
  /** As the response headers give it; empty where there is none. */
  readonly requestId: string;
  /** From the body that was sent. */
  readonly droppedFields: readonly string[];
  /** Whether the caller speaks this format too, so that events carry what has no common form. */
  readonly isNative: boolean;
}

/** A request as it is sent. */
export interface UpstreamBody {
  /** The JSON. */
  readonly json: string;
  /** Fields of the caller's that are not in it, by the caller's names. */
  readonly dropped: readonly string[];
}

/** One wire format, spoken with one upstream. */
export interface Wire {
  readonly format: RemoteWireFormat;
  /** The vendor's name in traces. */
  readonly providerName: string;
  /** Path of a generation below base_url. */
  readonly generatePath: string;
  /** Headers beside content-type: authentication, version and beta flags. */
  headers(secret: string | undefined, request: Pick<GenerateRequest, 'messagesVersion' | 'native'>): Record<string, string>;
  /** Body of a streaming generation. Raises unsupported_field or invalid_request for what the format cannot say. */
  generateBody(request: GenerateRequest, model: string): UpstreamBody;
  /** Decoder of its answer. */
  decoder(request: GenerateRequest, answer: AnswerHead): StreamDecoder;
  /** The error for a status other than 2xx. `model` is what the vendor calls it, which its text may name and callers do not know. */
  responseError(status: number, headers: Headers, body: string, nowMs: number, model: string): AppError;
  /** The vendor's own token count, where it has one. */
  readonly count?: {
    readonly path: string;
    body(request: CountTokensRequest, model: string): string;
    /** The count in the answer's JSON; undefined when it is not there. */
    read(answer: unknown): number | undefined;
  };
}
