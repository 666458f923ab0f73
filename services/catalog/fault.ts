// What is wrong with a value, in a form that suits one rejected request as well as a list of all errors in a file.
import { AppError } from '#client/errors/app-error.js';

/** Holds one thing that is wrong with one field. */
export interface Fault {
  /** Path of the field as in the protobuf message, for example "targets[0].upstream_id". */
  readonly field: string;
  /** Completes the sentence "<field> …". */
  readonly message: string;
}

/** Raises invalid_request for the first fault, with the field below `prefix` in details.field; does nothing when there are none. */
export function refuseFaults(prefix: string, faults: readonly Fault[]): void {
  const first = faults[0];
  if (first === undefined) return;
  const field = `${prefix}.${first.field}`;
  throw new AppError('invalid_request', `${field} ${first.message}.`, { details: { field } });
}
