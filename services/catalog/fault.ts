// What is wrong with a value, in a form that suits one refused request as well as a list of everything wrong with a file.
import { AppError } from '#client/errors/app-error.js';

/** One thing wrong with one field. */
export interface Fault {
  /** Path of the field as in the protobuf message, for example "targets[0].upstream_id". */
  readonly field: string;
  /** Completes the sentence "<field> …". */
  readonly message: string;
}

/** Raises invalid_request for the first fault, with the field below `prefix` in details.field; nothing when there is none. */
export function refuseFaults(prefix: string, faults: readonly Fault[]): void {
  const first = faults[0];
  if (first === undefined) return;
  const field = `${prefix}.${first.field}`;
  throw new AppError('invalid_request', `${field} ${first.message}.`, { details: { field } });
}
