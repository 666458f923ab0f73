// The trace of one of many operations that travel together: each has its own W3C traceparent.
import { context as activeContext, defaultTextMapGetter, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { untraced } from '#client/traceparent.js';

/** Runs the function in that trace; untraced for an empty text, whatever trace is active. */
export function withTraceparent<T>(traceparent: string, run: () => T): T {
  return traceparent === ''
    ? untraced(run)
    : activeContext.with(propagation.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter), run);
}
