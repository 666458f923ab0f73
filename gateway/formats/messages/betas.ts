// The beta flags of a messages request, from its header anthropic-beta.
import type { DroppedFields } from '../fields.js';

// They change the price of tokens, by the length of the prompt or by the speed of the answer, and the catalog has one price.
const priceChanging = /^(context-1m|fast-mode)(-|$)/;

/** The flags for an upstream of this format, each once and in order. What changes the price is dropped by name. */
export function passableBetas(flags: readonly string[], dropped: DroppedFields): string[] {
  const passable = new Set<string>();
  for (const flag of flags) {
    if (priceChanging.test(flag)) dropped.add(`anthropic-beta.${flag}`);
    else passable.add(flag);
  }
  return [...passable];
}
