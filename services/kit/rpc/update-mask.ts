// The field masks of update requests.
import { fieldFault } from '#client/errors/fault.js';

/** Returns which fields an update changes. Raises invalid_request for an empty mask and for a field that cannot be changed. */
export function checkedUpdateMask<Field extends string>(mask: readonly string[] | undefined, fields: readonly Field[]): ReadonlySet<Field> {
  const allowed: readonly string[] = fields;
  if (mask === undefined || mask.length === 0 || !mask.every((path) => allowed.includes(path)))
    throw fieldFault('update_mask', 'update_mask', { values: fields.join(', ') });
  return new Set(mask as readonly Field[]);
}
