// What is gathered while a messages body is read, and the checks that hold wherever in the body something stands.
import { fieldError } from '../body-reader.js';
import { Demands } from '../required-capabilities.js';
import type { CacheTtl } from '../parts.js';

/** From this version on there are no sampling parameters, no documents in assistant messages and no citations on the user's text. */
export const version2026 = '2026-10-21';

/** The vendor's own limit on cache marks, the automatic one included. */
const cacheMarksMax = 4;

export const fileFix =
  'ids of files at a vendor are not accepted, for files belong to accounts there; send the content itself, as base64 or text';

/** The state of reading one body. */
export class Reading {
  readonly demands = new Demands();
  #cacheMarks = 0;

  /** `version` is a date, or empty for the oldest. */
  constructor(readonly version: string) {}

  /** Whether the rules of 2026-10-21 hold. */
  get isRecent(): boolean {
    return this.version >= version2026;
  }

  /** What a cache_control asks for. Raises invalid_request for a fifth mark, and for a lifetime that has no price. */
  cacheTtl(marked: object, path: string): CacheTtl | undefined {
    const control = (marked as { cache_control?: unknown }).cache_control;
    if (control === null || control === undefined) return undefined;
    const field = path === '' ? 'cache_control' : `${path}.cache_control`;
    this.#cacheMarks += 1;
    if (this.#cacheMarks > cacheMarksMax)
      throw fieldError(
        'invalid_request',
        field,
        `at most ${cacheMarksMax} blocks may have cache_control, the automatic one included; leave it out here`,
      );
    const { ttl = null } = control as { ttl?: unknown };
    if (ttl !== null && ttl !== '5m' && ttl !== '1h') throw fieldError('invalid_request', `${field}.ttl`, 'must be one of 5m, 1h');
    return ttl ?? '5m';
  }

  /** Counts the fields of a block that its translation leaves out, for a model behind this format may read them. */
  countOthers(value: object, translated: readonly string[]): void {
    for (const [name, field] of Object.entries(value)) {
      if (field !== null && !translated.includes(name)) this.demands.addForeign(field);
    }
  }

  /** Counts something that only upstreams of this format get, as it is. Raises unsupported_field when a vendor's file id is in it. */
  passOn(value: unknown, path: string): void {
    assertNoFileIds(value, path);
    this.demands.addForeign(value);
  }
}

/** Raises unsupported_field when there is a file id of a vendor in a value. Bodies are bounded in depth (`json-shape.ts`). */
export function assertNoFileIds(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    if (name === 'file_id' && typeof field === 'string') throw fieldError('unsupported_field', `${path}.file_id`, fileFix);
    // The arguments of a call are the caller's own words.
    if (name !== 'input') assertNoFileIds(field, `${path}.${name}`);
  }
}
