// The beta flags of a messages request, from its header anthropic-beta.
import type { DroppedFields } from '../fields.js';

// These change the price of tokens by the length of the prompt or the speed of the answer, and the catalog has only one price.
const priceChanging = /^(context-1m|fast-mode)(-|$)/;

/** Returns the flags for an upstream of this format, each once and in order. Flags that change the price are dropped and named. */
export function passableBetas(flags: readonly string[], dropped: DroppedFields): string[] {
  const passable = new Set<string>();
  for (const flag of flags) {
    if (priceChanging.test(flag)) dropped.add(`anthropic-beta.${flag}`);
    else passable.add(flag);
  }
  return [...passable];
}
