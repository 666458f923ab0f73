// Lets tests wait for events elsewhere.
import { AppError } from '#client/errors/app-error.js';

/** Returns the AppError that the promise is rejected with. */
export async function failureOf(promise: Promise<unknown>): Promise<AppError> {
  const outcome = await promise.then(
    () => new Error('It did not fail.'),
    (error: unknown) => error,
  );
  if (outcome instanceof AppError) return outcome;
  throw outcome;
}

/** Returns the AppError that the call raises. */
export function raisedBy(call: () => unknown): AppError {
  try {
    call();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('It did not fail.');
}

// Longer than a busy machine needs. Tests continue as soon as the condition holds, so only failing ones take this long.
const waitMsMax = 20_000;

/** Waits until the condition holds, for at most 20 seconds. */
export async function untilTrue(condition: () => boolean): Promise<void> {
  for (const endMs = performance.now() + waitMsMax; performance.now() < endMs && !condition();) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Waits until the number has not changed for a tenth of a second. */
export async function untilStill(read: () => number): Promise<void> {
  for (let before = -1; before !== read();) {
    before = read();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Returns the first value that is not undefined. Fails after 20 seconds. */
export async function eventually<T>(read: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const endMs = performance.now() + waitMsMax; performance.now() < endMs;) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('There was no value in time.');
}
