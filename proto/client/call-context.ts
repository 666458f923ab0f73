// What travels with a request through every RPC, local or remote.
import { AppError } from './errors/app-error.js';

/** The context of one RPC; the same type on the calling and on the serving side. */
export interface CallContext {
  /** Set by the caller to cancel the call. On the serving side it aborts when the caller disconnects and when the deadline passes. */
  readonly signal: AbortSignal;
  /** The deadline (epoch milliseconds); absent: none. The transport enforces it. */
  readonly deadlineMs?: number;
  /** The name of the calling process ("gateway", "billing-team", "operator" …), as the transport established it. */
  readonly caller: string;
  /** The SPIFFE ID in the caller's certificate, if that identifies the caller. Serving side only. */
  readonly identity?: string;
  /** SHA-256 of the caller's certificate in lower-case hex; absent when the caller is trusted without one. Serving side only. */
  readonly certificateSha256?: string;
  /**
   * The user on whose behalf the caller acts, as proved by a token that auth signed; absent: the caller acts on its own behalf. Serving
   * side only.
   */
  readonly actor?: Actor;
  /** The signed token of the acting user: sent with an outgoing call, and not yet verified in an incoming one. */
  readonly actorToken?: string;
  /**
   * Receives a provisional response: the response that the call returns if it succeeds, before its effects are durable. It is not called
   * when the service does not know its response early, and transports between processes do not carry provisional responses.
   */
  readonly onProvisional?: (response: unknown) => void;
}

/** A user who acts through a calling process. */
export interface Actor {
  readonly userId: string;
  /** The session in which the user acts; the id of the management key if there is one. */
  readonly sessionId: string;
  readonly email: string;
  readonly isOperator: boolean;
  /** The name of the user's role in each account to which the user belongs: "owner", "admin", "developer", "billing", "viewer" or "member". */
  readonly roles: ReadonlyMap<string, string>;
  /** The names of the user's roles in single projects, "developer" or "viewer", by account and project. */
  readonly projectRoles: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The network address of the user's request. */
  readonly clientAddress: string;
  /** The management key through which a program acts for the user. Absent: the user acts in a session. */
  readonly managementKey?: ActingKey | undefined;
}

/** A management key through which a program acts for a user. */
export interface ActingKey {
  readonly id: string;
  readonly name: string;
  /** The scopes of the key, for example "keys:read". */
  readonly scopes: ReadonlySet<string>;
}

/** Options of `callContext`. */
export interface CallContextOptions {
  /** The name under which this process calls. */
  caller: string;
  /** The call fails with deadline_exceeded after this many milliseconds. */
  timeoutMs?: number;
  /** Cancels the call when it aborts. */
  signal?: AbortSignal;
  /** The signed token of the user on whose behalf this process calls. */
  actorToken?: string | undefined;
  /** Receives a provisional response, if the transport delivers one. */
  onProvisional?: (response: unknown) => void;
}

/** A signal that never aborts, so nothing needs to listen to it. */
export const neverAborted: AbortSignal = new AbortController().signal;

/**
 * The abort reason of a producer whose consumer disconnected. It is one shared error, because capturing a stack trace would cost more than the
 * rest of the disconnect.
 */
export const consumerDisconnected = new AppError('cancelled', 'The consumer disconnected.');

/** Node fires timers beyond 2^31 - 1 ms immediately (https://nodejs.org/api/timers.html#settimeoutcallback-delay-args). */
export const timerMsMax = 2_147_483_647;

/** Returns the context with some fields changed. A plain spread may leave out the signal, which some contexts create when it is first read. */
export function changedContext(context: CallContext, changes: Partial<CallContext>): CallContext {
  return { ...context, signal: context.signal, ...changes };
}

/** Returns a context for an outgoing call. With only `caller` it has no deadline and is never aborted. */
export function callContext(options: CallContextOptions): CallContext {
  const { caller, timeoutMs, signal = neverAborted, actorToken, onProvisional } = options;
  return {
    caller,
    signal,
    ...(timeoutMs === undefined ? {} : { deadlineMs: Date.now() + timeoutMs }),
    ...(actorToken === undefined ? {} : { actorToken }),
    ...(onProvisional === undefined ? {} : { onProvisional }),
  };
}
