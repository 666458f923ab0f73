// The interface of every upstream, whatever its wire format.
import type {
  CountTokensRequest,
  CountTokensResponse,
  GenerateRequest,
  GenerateResponse,
  Target,
  ApiFormat,
} from '#proto/inference/v1/inference.js';
import type { SendsReasoning } from '../tokens/prompt-text.js';
import type { Allowance } from '../routing/pace.js';
import type { UpstreamCredential } from './credentials.js';

/** Holds the context of one attempt. */
export interface Attempt {
  /** One of the upstream's credentials. Absent: the first. */
  readonly credential?: UpstreamCredential | undefined;
  /** The one of the request's targets that this upstream serves. */
  readonly target: Target;
  /** Aborted when the consumer disconnects or the call's total time is up; its reason is the AppError to end with. */
  readonly signal: AbortSignal;
  /** Trace headers to send along; empty if the upstream must not receive them. */
  readonly traceHeaders: Readonly<Record<string, string>>;
  /** Called with the head of an HTTP response as soon as it arrives. */
  readonly onResponse?: (head: ResponseHead) => void;
}

/** Holds the head of an HTTP response. */
export interface ResponseHead {
  readonly status: number;
  /** The vendor's own id of the request; empty if it gives no plain id. */
  readonly requestId: string;
  /** The caller's fields that were left out of the request. */
  readonly droppedFields: readonly string[];
}

/** One upstream. */
export interface Upstream {
  readonly id: string;
  readonly format: ApiFormat;
  /** The vendor's name by the GenAI conventions, for traces. */
  readonly providerName: string;
  /** Where it is. Absent: in this process. */
  readonly address?: { readonly host: string; readonly port: number } | undefined;
  /** Whether it is in our own network, so that it may receive our trace ids. */
  readonly isPrivate: boolean;
  readonly credentials: readonly UpstreamCredential[];
  /** What its vendor allows each credential. Absent: nothing is counted. */
  readonly allowance?: Allowance | undefined;
  /** An answer that begins later than this, from the start of its attempt, is slow. */
  readonly slowFirstTokenMs: number;
  /** What it receives of reasoning in the history. */
  readonly sentReasoning: SendsReasoning;
  /** Reports whether the answer to this request arrives whole. */
  answersWhole(request: GenerateRequest): boolean;
  /**
   * Generates an answer. The first event is `started`, the last `finished`; events that arrive together are yielded together. Raises
   * upstream_* or context_length_exceeded; nothing was generated if it raises before the first yield. Ending the iteration for any reason
   * also ends the request to the vendor.
   */
  generate(request: GenerateRequest, attempt: Attempt): AsyncGenerator<GenerateResponse, void, undefined>;
  /** Counts input tokens; the count is an estimate if the upstream has none of its own. */
  countTokens(request: CountTokensRequest, attempt: Attempt): Promise<CountTokensResponse>;
  /** Returns the answer to a request for its list of models. Raises upstream_failed. Absent: it has none. */
  models?(signal: AbortSignal): Promise<unknown>;
  /** How often it is probed while a target of it is ejected. Absent: never. */
  readonly probeIntervalMs?: number | undefined;
  /** Reports whether its server works, by a cheap request; undefined if the response does not say. */
  probe?(signal: AbortSignal): Promise<boolean | undefined>;
  /** Lets calls in flight finish, then closes all connections. */
  close(): Promise<void>;
}

/**
 * Reports whether an answer may be requested whole: the client does not stream, and the answer is short enough to arrive within the time limits. A
 * call that may be hedged is streamed, because only a stream shows whether the first token is late.
 */
export function isShortWhole({ streaming, maxOutputTokens, hedgeAfterMs }: GenerateRequest, wholeTokensMax: number): boolean {
  return !streaming && hedgeAfterMs === undefined && maxOutputTokens <= wholeTokensMax;
}
