// The trace context of one operation of a batch: each has its own W3C traceparent.
import { defaultTextMapGetter } from '@opentelemetry/api';
import { inTraceOf, untraced } from '#client/traceparent.js';

/** Runs the function in that trace; untraced when the text is empty, whatever trace is active. */
export function withTraceparent<T>(traceparent: string, run: () => T): T {
  return traceparent === '' ? untraced(run) : inTraceOf({ traceparent }, defaultTextMapGetter, run);
}
