// What the middleware learns about a request, typed once; koa's own ctx.state is untyped.
import type { Context } from 'koa';
import type { AccountRateLimits, Key, Project } from '#proto/auth/v1/auth.js';
import type { AppError } from '#client/errors/app-error.js';
import type { Budget } from '#proto/budget/v1/budget.js';
import type { Format } from '../formats/format.js';
import type { BodyGuard } from './body-guard.js';

/** What a call with a platform key may be for. */
export type Endpoint = Format['name'] | 'count-tokens';

/** Facts about one request. */
export interface RequestState {
  /** Our request id, req_…, sent with every response. */
  requestId: string;
  /** The format in which errors are rendered. */
  dialect: Pick<Format, 'error'>;
  /** The template of the matched route, for telemetry; the path is not used because its values are unbounded. */
  route?: string;
  /** Bounds the reading of the body. */
  bodies?: BodyGuard;
  /** Set once the key is known. */
  key?: Key;
  /** That key as it was sent. */
  secret?: string;
  /** Authenticates the request again and updates the fields about its key. Raises what authentication raises. */
  renewKey?: () => Promise<void>;
  /** The project of the key. */
  project?: Project | undefined;
  /** The limits that the key shares with the other keys of its account. */
  accountRateLimits?: AccountRateLimits | undefined;
  /** The budgets of the key, its project and its account. */
  budgets?: readonly Budget[];
  /** The time zone of calendar budgets; empty for UTC. */
  accountTimeZone?: string;
  /** Whether the account never logs prompts and answers. */
  neverLogPrompts?: boolean;
  /** What is called; absent for requests that are not calls. */
  endpoint?: Endpoint;
  /** The model as the caller named it, once the body is read. */
  requestedModel?: string;
  /** Whether the call was admitted, and so ends in a usage record. */
  isAdmitted?: boolean;
  /** The catalog id of the called model, for the access log. */
  modelId?: string;
  /** The phases so far, as in the Server-Timing header. */
  timing?: string;
  /** The error that the client received, in the body or at the end of a stream. */
  failure?: AppError;
  /** Whether a part of a streamed answer was sent before the client disconnected. */
  hasReceived?: boolean;
  /** The earlier request whose answer is replayed, if this is a repeat. */
  originalId?: string;
}

/** A property of the context: a WeakMap costs several times as much, and more at each garbage collection. */
const stateKey = Symbol('request state');

/** Creates the state of a request. */
export function beginState(ctx: Context, state: RequestState): void {
  (ctx as { [stateKey]?: RequestState })[stateKey] = state;
}

/** Returns the state of a request; set by the first middleware. */
export function stateOf(ctx: Context): RequestState {
  const state = (ctx as { [stateKey]?: RequestState })[stateKey];
  if (state === undefined) throw new Error('The request has no state: the first middleware did not run.');
  return state;
}

/** Notes which model a body names, if it names one. */
export function noteRequestedModel(ctx: Context, body: unknown): void {
  const model = typeof body === 'object' && body !== null ? (body as { model?: unknown }).model : undefined;
  if (typeof model === 'string') stateOf(ctx).requestedModel = model;
}
