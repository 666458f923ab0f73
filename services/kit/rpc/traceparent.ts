// The trace context of one operation of a batch: each has its own W3C traceparent.
import { context as activeContext, defaultTextMapGetter, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { untraced } from '#client/traceparent.js';

/** Runs the function in that trace; untraced when the text is empty, whatever trace is active. */
export function withTraceparent<T>(traceparent: string, run: () => T): T {
  return traceparent === ''
    ? untraced(run)
    : activeContext.with(propagation.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter), run);
}
