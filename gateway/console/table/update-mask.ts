// The field masks of update requests.

/**
 * Returns the update mask for a PATCH body: `paths` maps each of its fields to the path in the request; without it, all have the same names there.
 * Absent fields stay unchanged.
 */
export function updateMaskOf(body: object, paths?: Readonly<Record<string, string>>): string[] {
  return Object.entries(body).flatMap(([field, value]) => (value === undefined ? [] : paths === undefined ? field : (paths[field] ?? [])));
}
