// Links a call to its trace.
import type { View } from '../output.js';

/** Returns the view with the address of the trace in the place of its id; unchanged except for a null in JSON when no address is configured. */
export function withTraceLink<T>(view: View<T>, traceUrl: string | undefined): View<T> {
  const linkOf = (traceId: unknown): string | null =>
    traceUrl === undefined || typeof traceId !== 'string' || traceId === '' ? null : traceUrl.replaceAll('{trace_id}', traceId);
  const details = (view.details ?? view.columns).map((column) => {
    if (column.title !== 'trace') return column;
    return { ...column, text: (item: T) => linkOf(column.text(item)) ?? column.text(item) };
  });
  return {
    ...view,
    details,
    json(item) {
      const json = view.json(item);
      return { ...json, trace_url: linkOf(json['trace_id']) };
    },
  };
}
