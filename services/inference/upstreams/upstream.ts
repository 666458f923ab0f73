// What every upstream can do, whichever wire format it speaks.
import type {
  CountTokensRequest,
  CountTokensResponse,
  GenerateRequest,
  GenerateResponse,
  Target,
  ApiFormat,
} from '#proto/inference/v1/inference.js';

/** The circumstances of one attempt. */
export interface Attempt {
  /** The target that this upstream serves, of those in the request. */
  readonly target: Target;
  /** Aborted when the consumer leaves or the call's whole time is up; its reason is the AppError to end with. */
  readonly signal: AbortSignal;
  /** Trace headers to send along; empty where the upstream shall not learn them. */
  readonly traceHeaders: Readonly<Record<string, string>>;
  /** Told what a response over HTTP begins with, as soon as it is there. */
  readonly onResponse?: (head: ResponseHead) => void;
}

/** What a response over HTTP begins with. */
export interface ResponseHead {
  readonly status: number;
  /** The vendor's own id of the request; empty where it gives none that is plain. */
  readonly requestId: string;
}

/** One upstream. */
export interface Upstream {
  readonly id: string;
  readonly format: ApiFormat;
  /** For traces: the vendor, as the GenAI conventions name it. */
  readonly providerName: string;
  /** Whether it lies in our own network, so that it may learn our trace ids. */
  readonly isPrivate: boolean;
  /**
   * Generates an answer. The first event is `started`, the last `finished`; what arrives together is yielded together. Raises
   * upstream_* or context_length_exceeded; nothing was generated when it raises before the first yield. Whatever ends the iteration
   * also ends the request to the vendor.
   */
  generate(request: GenerateRequest, attempt: Attempt): AsyncGenerator<GenerateResponse, void, undefined>;
  /** Input tokens; an estimate where the upstream has no count of its own. */
  countTokens(request: CountTokensRequest, attempt: Attempt): Promise<CountTokensResponse>;
  /** Lets calls under way end, then closes all connections. */
  close(): Promise<void>;
}

/** Failures after which another target is worth trying: they say nothing about the request itself. */
export const retryableReasons = [
  'overloaded',
  'upstream_rate_limited',
  'upstream_overloaded',
  'upstream_unavailable',
  'upstream_failed',
  'upstream_timeout',
] as const;
