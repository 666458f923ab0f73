// The differences between the wire formats that matter to the HTTP client.
import type { AppError } from '#client/errors/app-error.js';
import type { CountTokensRequest, GenerateRequest, Target } from '#proto/inference/v1/inference.js';
import type { SendsReasoning } from '../../tokens/prompt-text.js';
import type { RemoteWireFormat } from '../remote-format.js';
import type { StreamDecoder } from '../answers/stream-decoder.js';

/** Response headers, names in lower case. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Holds what is known about an answer before its first byte is read. */
export interface AnswerHead {
  readonly target: Target;
  /** From the response headers; empty if there is none. */
  readonly requestId: string;
  /** From the body that was sent. */
  readonly droppedFields: readonly string[];
  /** Whether the caller uses this format too, so that events carry what has no common form. */
  readonly isNative: boolean;
  /** The custom tools for which the upstream has functions. */
  readonly customTools?: ReadonlySet<string> | undefined;
  /** Returns the ids of the tool calls in the conversation. */
  readonly earlierCallIds?: (() => Iterable<string>) | undefined;
}

/** Holds a request body as it is sent. */
export interface UpstreamBody {
  /** The JSON. */
  readonly json: string;
  /** The caller's fields that are not in it, by the caller's names. */
  readonly dropped: readonly string[];
}

/** Implements one wire format for one upstream. */
export interface Wire {
  readonly format: RemoteWireFormat;
  /** The vendor's name in traces. */
  readonly providerName: string;
  /** Whether custom tools become functions even if the caller uses the same format. */
  readonly replacesCustomTools?: boolean;
  /** Path of a generation below base_url. */
  readonly generatePath: string;
  /** Returns the headers other than content-type: authentication, version and beta flags. */
  headers(secret: string | undefined, request: Pick<GenerateRequest, 'messagesVersion' | 'native'>): Record<string, string>;
  /** Returns the body of a generation, by default of a stream. Raises unsupported_field or invalid_request for what the format cannot express. */
  generateBody(request: GenerateRequest, model: string, streams?: boolean): UpstreamBody;
  /** What its bodies contain of reasoning in the history. */
  readonly sentReasoning: SendsReasoning;
  /** Returns a decoder for the answer. */
  decoder(request: GenerateRequest, answer: AnswerHead): StreamDecoder;
  /** The same for requests with embedding. Absent: servers of the format have no vectors. */
  readonly embeddings?: Pick<Wire, 'generatePath' | 'generateBody' | 'decoder'>;
  /** Returns the error for a status other than 2xx. `model` is the vendor's name for the model, which its text may contain and callers do not know. */
  responseError(status: number, headers: Headers, body: string, nowMs: number, model: string): AppError;
  /** The vendor's own token count, if it offers one. */
  readonly count?: {
    readonly path: string;
    body(request: CountTokensRequest, model: string): string;
    /** Returns the count in the response's JSON; undefined if it has none. */
    read(answer: unknown): number | undefined;
  };
}
