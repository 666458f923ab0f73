/** Returns the update mask that names all of these fields: `{ isDisabled: true }` → `['is_disabled']`. */
export function maskOf(fields: object): string[] {
  return Object.keys(fields).map((key) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}
