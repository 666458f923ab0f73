// The gRPC status codes (https://grpc.github.io/grpc/core/md_doc_statuscodes.html), without importing a gRPC library.

/** A gRPC status code. */
export const Status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type Status = (typeof Status)[keyof typeof Status];

/** The names of the codes: statusNames[14] is "UNAVAILABLE". */
export const statusNames: readonly string[] = Object.keys(Status);
