// Faults of fields, in a form that suits a single rejected request as well as a list of all errors in a file.
import { type FieldParams, fieldFault } from '#client/errors/fault.js';
import { type FieldRule, fieldRules } from '#rules/errors/error-sentences.js';
import { fill, type Value } from '#rules/errors/templates.js';

/** A rule that the value of a field breaks. */
export interface Fault {
  /** Path of the field as in the protobuf message, for example "targets[0].upstream_id". */
  readonly field: string;
  readonly rule: FieldRule;
  readonly params: Readonly<Record<string, Value>>;
}

/** Returns a fault with the parameters of its rule. */
export function faultOf<R extends FieldRule>(field: string, rule: R, ...[params]: FieldParams<R>): Fault {
  return { field, rule, params: params ?? {} };
}

/** Returns the text that completes the sentence "<field> …". */
export function messageOf({ rule, params }: Fault): string {
  return fill(fieldRules[rule], params);
}

/** Raises invalid_request for the first fault, with the field below `prefix` in details.field; returns when there is none. */
export function refuseFaults(prefix: string, [first]: readonly Fault[]): void {
  if (first === undefined) return;
  throw fieldFault(`${prefix}.${first.field}`, first.rule, ...([first.params] as FieldParams<FieldRule>));
}
