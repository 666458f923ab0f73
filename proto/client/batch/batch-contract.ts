// What a method looks like that carries many small calls of its service at once: a stream of messages with many operations each,
// answered by a stream of messages with many results each. The case of an operation and of its result is the name of the method
// that it stands for. `Apply` of the ledger is one.

/** One of the cases of a oneof. */
export interface Case {
  /** The method: "settle"; of an result also "error", whose value is a google.rpc.Status. */
  readonly $case: string;
  /** Its request or response. */
  readonly value: unknown;
}

/** One small call. */
export interface BatchOperation {
  /** By which the sender knows the result. */
  readonly tag: number;
  /** How long the sender still waits; absent: without end. */
  readonly timeoutMs?: number | undefined;
  /** Its own trace; empty when that is not sampled. */
  readonly traceparent: string;
  readonly operation?: Case | undefined;
}

/** The requests of such a method. */
export interface BatchRequest {
  readonly operations: readonly BatchOperation[];
}

/** What came of one small call. */
export interface BatchResult {
  readonly tag: number;
  readonly result?: Case | undefined;
}

/** The responses of such a method. */
export interface BatchResponse {
  readonly results: readonly BatchResult[];
}

/** Operations, and results, of one message at most. */
export const operationsPerMessageMax = 64;

/** A message that has this many bytes takes in no further operation or result, so that large ones do not keep the others waiting. */
export const batchBytesWanted = 256 * 1024;

/** Operations of one stream that have no result yet, at most. */
export const inFlightMax = 4096;
