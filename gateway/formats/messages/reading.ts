// State that is collected while a messages body is read, and checks that apply anywhere in the body.
import { fieldError } from '../requests/body-reader.js';
import { Demands } from '../requests/required-capabilities.js';
import type { CacheTtl } from '../parts.js';

/** From this version on, sampling parameters, documents in assistant messages and citations on the user's text are not allowed. */
export const version2026 = '2026-10-21';

/** The vendor's own limit on cache marks, the automatic one included. */
const cacheMarksMax = 4;

export const fileFix =
  'vendor file ids are not supported, because the files belong to an account at the vendor; send the content itself, as base64 or text';

/** Holds the state of reading one body. */
export class Reading {
  readonly demands = new Demands();
  #cacheMarks = 0;

  /** `version` is a date, or empty for the oldest. */
  constructor(readonly version: string) {}

  /** Reports whether the rules of 2026-10-21 apply. */
  get isRecent(): boolean {
    return this.version >= version2026;
  }

  /** Returns the lifetime that a cache_control requests. Raises invalid_request for a fifth mark, and for a lifetime without a price. */
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

  /** Counts the fields of a block that its translation leaves out, because a model behind this format may read them. */
  countOthers(value: object, translated: readonly string[]): void {
    for (const [name, field] of Object.entries(value)) {
      if (field !== null && !translated.includes(name)) this.demands.addForeign(field);
    }
  }

  /** Counts a value that is passed unchanged to upstreams of this format only. Raises unsupported_field if it contains a vendor's file id. */
  passOn(value: unknown, path: string): void {
    assertNoFileIds(value, path);
    this.demands.addForeignContent(value);
  }
}

/** Raises unsupported_field if a value contains a vendor's file id. Bodies are bounded in depth (`json-outline.ts`). */
export function assertNoFileIds(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    if (name === 'file_id' && typeof field === 'string') throw fieldError('unsupported_field', `${path}.file_id`, fileFix);
    // The arguments of a call are the caller's own data.
    if (name !== 'input') assertNoFileIds(field, `${path}.${name}`);
  }
}
