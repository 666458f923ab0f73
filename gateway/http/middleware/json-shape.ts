// Bounds the shape of a JSON value, beyond its size in bytes: code that walks it must neither run out of stack nor occupy the
// process for seconds. Pure.
import { AppError } from '#client/errors/app-error.js';

/** Nested arrays and objects. */
export const depthMax = 256;
/** Values of every kind, including those in arrays and objects: as many as a few hundred thousand messages have. */
export const valuesMax = 1_000_000;

/** Throws invalid_request for a value that is nested too deeply or has too many parts. */
export function assertBounded(value: unknown): void {
  let values = 0;
  const visit = (each: unknown, depth: number): void => {
    if (typeof each !== 'object' || each === null) return;
    if (depth > depthMax) throw new AppError('invalid_request', `The body is nested more than ${depthMax} levels deep.`);
    const parts: unknown[] = Array.isArray(each) ? each : Object.values(each);
    values += parts.length;
    if (values > valuesMax)
      throw new AppError('invalid_request', `The body has more than ${valuesMax} values; send fewer messages or parts.`);
    for (const part of parts) visit(part, depth + 1);
  };
  visit(value, 1);
}
