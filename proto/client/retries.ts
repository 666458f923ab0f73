// Retries of unary calls, and their default deadline.
import { type CallContext, callContext, changedContext } from './call-context.js';
import type { MethodInfo, UnaryHandler } from './definition.js';
import { hasReason } from './errors/app-error.js';

/** How the calls of a client are made. */
export interface CallingOptions {
  /** The name under which this process calls. */
  readonly caller: string;
  /** The deadline of a call whose context has none, all attempts together; 30 s by default. */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum number of attempts of a call; 1 by default. Only calls that the contract declares idempotent are retried (idempotency_level), only
   * after service_unavailable, and never past their deadline.
   */
  readonly attempts?: number | undefined;
}

const timeoutMsDefault = 30_000;
// Doubled at each retry, and jittered by half, so that many callers do not retry in step.
const retryWaitMs = 50;

/** Returns the method with the retries that its contract and the options allow. */
export function withRetries({ definition }: MethodInfo, once: UnaryHandler, options: CallingOptions): UnaryHandler {
  const { attempts = 1 } = options;
  if (attempts <= 1 || definition.options?.idempotencyLevel === undefined) return once;
  return async (request, given) => {
    // One deadline for all attempts.
    const context = withDeadline(given, options);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(request, context);
      } catch (error) {
        const waitMs = retryWaitMs * 2 ** (attempt - 1) * (0.5 + Math.random());
        if (attempt >= attempts || !hasReason(error, 'service_unavailable') || !hasTimeFor(waitMs, context)) throw error;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  };
}

/** Returns the context of a unary call, with the default deadline if it has none of its own. */
export function withDeadline(given: CallContext | undefined, { caller, timeoutMs = timeoutMsDefault }: CallingOptions): CallContext {
  if (given?.deadlineMs !== undefined) return given;
  return given === undefined ? callContext({ caller, timeoutMs }) : changedContext(given, { deadlineMs: Date.now() + timeoutMs });
}

function hasTimeFor(waitMs: number, { signal, deadlineMs }: CallContext): boolean {
  return !signal.aborted && Date.now() + waitMs < deadlineMs!;
}
