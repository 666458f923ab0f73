// What the middleware learns about a request, typed once; koa's own ctx.state is open to anything.
import type { Context } from 'koa';
import type { Key } from '#proto/auth/v1/auth.js';
import type { Format } from '../formats/format.js';

/** Facts about one request. */
export interface RequestState {
  /** Our request id, req_…, on every answer. */
  requestId: string;
  /** The dialect in which a refusal is told. */
  dialect: Pick<Format, 'error'>;
  /** The matched route's template, for telemetry; the path is not, for its values are unbounded. */
  route?: string;
  /** Set once the key is known. */
  key?: Key;
  /** The catalog id of the called model, for the access log. */
  modelId?: string;
  /** Of a repeat: the request whose answer it gets again. */
  originalId?: string;
}

const states = new WeakMap<object, RequestState>();

/** Begins the state of a request. */
export function beginState(ctx: Context, state: RequestState): void {
  states.set(ctx, state);
}

/** The state of a request; set by the first middleware. */
export function stateOf(ctx: Context): RequestState {
  const state = states.get(ctx);
  if (state === undefined) throw new Error('The request has no state: the first middleware did not run.');
  return state;
}
