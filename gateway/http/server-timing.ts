// Reports to the caller how long each phase of its call took, in the Server-Timing header (https://www.w3.org/TR/server-timing/).
import type { Context } from 'koa';
import { stateOf } from './request-state.js';

/**
 * A phase of a call: `auth` checks the key; `hold` reserves the money, and with an idempotency key the key; `upstream` lasts until the first
 * event of a stream or the end of a whole answer; `record` makes the usage record durable. What is not `upstream` was added by us. The upstream
 * may be called before the hold is durable; `upstream` begins only then, so that no time is in two phases.
 */
export type Phase = 'auth' | 'hold' | 'upstream' | 'record';

/** Adds a phase that began and ended at these times of `performance.now()`. `sendTiming` sends the phases so far. */
export function noteTiming(ctx: Context, phase: Phase, startedAtMs: number, endedAtMs = performance.now()): void {
  const state = stateOf(ctx);
  const metric = `${phase};dur=${(endedAtMs - startedAtMs).toFixed(2)}`;
  state.timing = state.timing === undefined ? metric : `${state.timing}, ${metric}`;
}

/** Sets the header, just before the headers are sent. */
export function sendTiming(ctx: Context): void {
  const { timing } = stateOf(ctx);
  if (timing !== undefined && !ctx.res.headersSent) ctx.res.setHeader('server-timing', timing);
}
