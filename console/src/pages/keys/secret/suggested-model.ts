// The model that samples and the playground begin with. Pure.

/** Sandbox models that simply answer; the others fail, stall or call tools on purpose. */
const freeModels = ['sandbox/echo', 'sandbox/story'];

/** Returns a model that works without a vendor account, otherwise the first one; undefined if there are no models. */
export function suggestedModel(ids: readonly string[]): string | undefined {
  return freeModels.find((free) => ids.includes(free)) ?? ids[0];
}
