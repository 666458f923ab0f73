// The model that samples and the playground begin with. Pure.

/** They answer without a vendor's account; the other models of the sandbox fail, stall or call tools on purpose. */
const freeModels = ['sandbox/echo', 'sandbox/story'];

/** Returns a model that works without a vendor account, otherwise the first one; undefined if there are no models. */
export function suggestedModel(ids: readonly string[]): string | undefined {
  return freeModels.find((free) => ids.includes(free)) ?? ids[0];
}
