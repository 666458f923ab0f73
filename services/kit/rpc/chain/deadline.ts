// Decorator that reserves a little of the time for each hop, and refuses work that cannot be finished in time.
import { AppError, toAppError } from '#client/errors/app-error.js';
import { changedContext, timerMsMax } from '#client/call-context.js';
import type { Decorator } from './decorate.js';
import { LocalCall } from '../local/local-call.js';

/**
 * Subtracted from the caller's deadline at each hop, so that the services that this one calls give up before its own caller does: the error
 * then still arrives and names the slow service; a caller that gives up first cannot know which one was slow.
 */
export const hopMs = 20;

// With less time left nothing useful can finish, and work whose result is no longer awaited slows down other calls.
const leftMsMin = 5;

/** Passes the method a deadline 20 ms before the caller's, and a signal that aborts at it. Raises deadline_exceeded. */
export const deadline: Decorator = (method) => (context) => {
  if (context.deadlineMs === undefined) return { context };
  const deadlineMs = context.deadlineMs - hopMs;
  const leftMs = deadlineMs - Date.now();
  if (leftMs < leftMsMin) {
    throw new AppError('deadline_exceeded', `${method.fullName} was not started: too little time was left.`);
  }
  if (context instanceof LocalCall) {
    // A local call enforces both deadlines with one timer.
    context.reserve(hopMs, () => new AppError('deadline_exceeded', `${method.fullName} did not finish in time.`));
    return { context, end: (error) => lateOr(context.late, error) };
  }
  const call = new AbortController();
  let late: AppError | undefined;
  const timer = setTimeout(
    () => {
      late = new AppError('deadline_exceeded', `${method.fullName} did not finish in time.`);
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
    context: changedContext(context, { deadlineMs, signal: call.signal }),
    end(error) {
      clearTimeout(timer);
      context.signal.removeEventListener('abort', onAbort);
      return lateOr(late, error);
    },
  };
};

/** Returns deadline_exceeded in place of cancelled, which a method raises when the deadline has aborted it. */
function lateOr(late: AppError | undefined, error: unknown): unknown {
  return late !== undefined && toAppError(error).reason === 'cancelled' ? late : error;
}
