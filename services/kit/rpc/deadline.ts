// Decorator: each hop keeps a little of the time for itself, and refuses work that cannot be done in time.
import { AppError, toAppError } from '#client/errors/app-error.js';
import { timerMsMax } from '#client/call-context.js';
import type { Decorator } from './decorate.js';

/**
 * Taken from the caller's deadline at each hop, so that what this service calls gives up before its own caller does: the error
 * then arrives and names what was slow, where a caller that gave up first would only know that "it" was.
 */
export const hopMs = 20;

// With less than this left nothing useful is finished, and work that nobody waits for only slows what somebody does wait for.
const leftMsMin = 5;

/** Hands the method a deadline 20 ms before the caller's, with a signal that keeps it. Raises deadline_exceeded. */
export const deadline: Decorator = (method) => (context) => {
  if (context.deadlineMs === undefined) return { context };
  const deadlineMs = context.deadlineMs - hopMs;
  const leftMs = deadlineMs - Date.now();
  if (leftMs < leftMsMin) {
    throw new AppError('deadline_exceeded', `${method.fullName} was not begun: the time left for it was too short.`);
  }
  const call = new AbortController();
  let late: AppError | undefined;
  const timer = setTimeout(
    () => {
      late = new AppError('deadline_exceeded', `${method.fullName} was not done in time.`);
      call.abort(late);
    },
    Math.min(leftMs, timerMsMax),
  );
  const onAbort = (): void => {
    clearTimeout(timer);
    call.abort(context.signal.reason);
  };
  context.signal.addEventListener('abort', onAbort, { once: true });
  if (context.signal.aborted) onAbort();
  return {
    context: { ...context, deadlineMs, signal: call.signal },
    end(error) {
      clearTimeout(timer);
      context.signal.removeEventListener('abort', onAbort);
      // Whatever the method made of being aborted, the deadline was the reason.
      return late !== undefined && toAppError(error).reason === 'cancelled' ? late : error;
    },
  };
};
