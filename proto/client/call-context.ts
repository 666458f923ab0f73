// What travels beside a request through every RPC, local or remote.
import { AppError } from './errors/app-error.js';

/** The circumstances of one RPC, the same type on the calling and on the serving side. */
export interface CallContext {
  /** Given by a caller, to abort when it gives up. On the serving side aborted when the caller leaves and when the deadline passes. */
  readonly signal: AbortSignal;
  /** Instant (epoch milliseconds) after which nobody waits for the answer; absent: no deadline. The transport keeps it. */
  readonly deadlineMs?: number;
  /** Name of the calling process ("gateway", "billing-team", "operator" …) as the transport established it. */
  readonly caller: string;
  /** What identifies the caller where that is not its name: its SPIFFE id. Serving side only. */
  readonly identity?: string;
  /** SHA-256 of the caller's certificate in lower-case hex; absent where the caller is believed without one. Serving side only. */
  readonly certificateSha256?: string;
  /** The user for whom the caller acts, as a token signed by auth proves it; absent: the caller acts in its own name. Serving side only. */
  readonly actor?: Actor;
  /** The signed token of the acting user: sent with an outgoing call, and not yet verified in an incoming one. */
  readonly actorToken?: string;
}

/** A user who acts through another process. */
export interface Actor {
  readonly userId: string;
  /** The session in which the user acts. */
  readonly sessionId: string;
  readonly email: string;
  readonly isOperator: boolean;
  /** The name of the user's role in each account to which the user belongs: "owner", "admin", "developer", "billing" or "viewer". */
  readonly roles: ReadonlyMap<string, string>;
  /** The address from which the user's request came. */
  readonly clientAddress: string;
}

/** Options of `callContext`. */
export interface CallContextOptions {
  /** Name under which this process calls. */
  caller: string;
  /** Give up after this many milliseconds. */
  timeoutMs?: number;
  /** Give up when this aborts. */
  signal?: AbortSignal;
  /** The signed token of the user for whom this process calls. */
  actorToken?: string | undefined;
}

/** A signal that nobody can abort, so nothing needs to listen to it. */
export const neverAborted: AbortSignal = new AbortController().signal;

/** Why a producer is ended whose consumer left. One for all: a stack trace would cost more than the rest of leaving. */
export const consumerLeft = new AppError('cancelled', 'The consumer left.');

/** Node fires timers beyond 2^31 - 1 ms at once (https://nodejs.org/api/timers.html#settimeoutcallback-delay-args). */
export const timerMsMax = 2_147_483_647;

/** A context for an outgoing call. Without options beside `caller` it has no deadline and is never aborted. */
export function callContext(options: CallContextOptions): CallContext {
  const { caller, timeoutMs, signal = neverAborted, actorToken } = options;
  return {
    caller,
    signal,
    ...(timeoutMs === undefined ? {} : { deadlineMs: Date.now() + timeoutMs }),
    ...(actorToken === undefined ? {} : { actorToken }),
  };
}
