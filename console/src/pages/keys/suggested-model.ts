// The model that samples and the playground begin with. Pure.

/** They answer without a vendor's account; the other models of the sandbox fail, stall or call tools on purpose. */
const freeModels = ['sandbox/echo', 'sandbox/story'];

/** Of these models one that answers without a vendor's account, else the first; undefined when there is none. */
export function suggestedModel(ids: readonly string[]): string | undefined {
  return freeModels.find((free) => ids.includes(free)) ?? ids[0];
}
