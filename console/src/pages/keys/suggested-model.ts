// The model that samples and the playground begin with. Pure.

const freeModel = 'sandbox/echo';

/** Of these models the one that answers without a vendor's account, else the first; undefined when there is none. */
export function suggestedModel(ids: readonly string[]): string | undefined {
  return ids.find((id) => id === freeModel) ?? ids[0];
}
