// Reports to the caller which of its fields had no effect: those that have none here, and those that were not sent to the upstream of this call.
import type { Context } from 'koa';
import type { Event } from '#proto/inference/v1/inference.js';

/** The header that names these fields. */
export const droppedFieldsHeader = 'x-tollgate-dropped-params';

const headerCharsMax = 1000;

/** Sets x-tollgate-dropped-params once the upstream is known, which is with the first event. */
export function reportDroppedFields(ctx: Context, always: readonly string[], events: readonly Event[]): void {
  const first = events[0]?.event;
  if (first?.$case !== 'started') return;
  reportNames(ctx, [...always, ...first.value.droppedFields]);
}

/** Sets the same header to these names. */
export function reportNames(ctx: Context, names: readonly string[]): void {
  ctx.remove(droppedFieldsHeader);
  if (names.length > 0) ctx.set(droppedFieldsHeader, [...new Set(names)].join(', ').slice(0, headerCharsMax));
}
