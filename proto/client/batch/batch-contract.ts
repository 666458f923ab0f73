// The shape of a batch method, which carries many small calls of its service: a request stream of messages with many operations each,
// and a response stream of messages with many results each. The case of an operation and of its result is the name of the method
// that it calls. The ledger's `Apply` is a batch method.

/** One of the cases of a oneof. */
export interface Case {
  /** The method: "settle"; in a result also "error", whose value is a google.rpc.Status. */
  readonly $case: string;
  /** Its request or response. */
  readonly value: unknown;
}

/** One small call. */
export interface BatchOperation {
  /** Identifies the result to the sender. */
  readonly tag: number;
  /** The time until the sender's deadline; absent: no deadline. */
  readonly timeoutMs?: number | undefined;
  /** The operation's own W3C traceparent; empty when its trace is not sampled. */
  readonly traceparent: string;
  readonly operation?: Case | undefined;
}

/** A request message of a batch method. */
export interface BatchRequest {
  readonly operations: readonly BatchOperation[];
}

/** The result of one small call. */
export interface BatchResult {
  readonly tag: number;
  readonly result?: Case | undefined;
}

/** A response message of a batch method. */
export interface BatchResponse {
  readonly results: readonly BatchResult[];
}

/** Maximum number of operations, and of results, in one message. */
export const operationsPerMessageMax = 64;

/** A message of this many bytes gets no further operations or results, so that large ones do not delay the others. */
export const batchBytesWanted = 256 * 1024;

/** Maximum number of operations of one stream that have no result yet. */
export const inFlightMax = 4096;
