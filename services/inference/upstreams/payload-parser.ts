// Parses the payloads of one stream. A model that writes a text sends the same payload again and again with another piece of the text in it:
// such a payload is recognised by what surrounds the text, so only the first of them is parsed. Pure.
import { isObject, type JsonObject, parsePayload } from './stream-decoder.js';

/** The fields that hold the pieces of a text, in both wire formats. */
const textFields: ReadonlySet<string> = new Set([
  'arguments',
  'content',
  'partial_json',
  'reasoning',
  'reasoning_content',
  'text',
  'thinking',
]);

/** A longer payload is not a piece of a text but a whole answer, and is not sent again. */
const repeatedCharsMax = 4096;

/** In a stream that repeats nothing (each payload has its own id, for example), looking for repetitions ends after this many attempts. */
const unusedRepetitionsMax = 4;

/** Parses one stream. */
export class PayloadParser {
  #repetition: Repetition | undefined;
  #hasParsed = false;
  #unused = 0;

  /**
   * Returns the object in a payload, equal to what JSON.parse returns; it may change with the next call. Raises upstream_failed if there is
   * none.
   */
  parse(payload: string): JsonObject {
    const repeated = this.#repetition?.parse(payload);
    if (repeated !== undefined) {
      this.#unused = 0;
      return repeated;
    }
    const object = parsePayload(payload);
    // The first payload begins the answer, and no other one is like it.
    if (this.#hasParsed && payload.length <= repeatedCharsMax && this.#unused < unusedRepetitionsMax) {
      this.#repetition = repetitionOf(payload, object);
      this.#unused += 1;
    }
    this.#hasParsed = true;
    return object;
  }
}

/** Parses payloads that differ only in one text. */
class Repetition {
  /** `before` ends with the quotation mark that begins the text, `after` begins with the one that ends it; `holder` has the text in `field`. */
  constructor(
    private readonly before: string,
    private readonly after: string,
    private readonly object: JsonObject,
    private readonly holder: Record<string, unknown>,
    private readonly field: string,
  ) {}

  /** Returns the object in a payload; undefined if the payload differs in anything but the text. */
  parse(payload: string): JsonObject | undefined {
    const { before, after } = this;
    const end = payload.length - after.length;
    // Comparing slices takes half as long as startsWith and endsWith.
    if (end < before.length || payload.slice(end) !== after || payload.slice(0, before.length) !== before) return undefined;
    const text = unquoted(payload.slice(before.length, end));
    if (text === undefined) return undefined;
    this.holder[this.field] = text;
    return this.object;
  }
}

/** Returns the text of a JSON string, given what is between its quotation marks; undefined if that is not the inside of one string. */
function unquoted(inside: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- JSON allows no control characters in a string
  if (/^[^"\\\u0000-\u001f]*$/.test(inside)) return inside;
  try {
    const text: unknown = JSON.parse(`"${inside}"`);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

const placeholder = 'tollgate-text';

/** Returns the repetition of which a payload may be the first; undefined if it has no text, or one that cannot be found in it. */
function repetitionOf(payload: string, object: JsonObject): Repetition | undefined {
  const held = textIn(object);
  if (held === undefined || held.text === placeholder) return undefined;
  const begin = payload.indexOf(JSON.stringify(held.text), payload.indexOf(`"${held.field}"`)) + 1;
  if (begin === 0) return undefined;
  const before = payload.slice(0, begin);
  const after = payload.slice(begin + JSON.stringify(held.text).length - 2);
  // The text may occur more than once. Wherever the placeholder is the whole of the text, any other text can be in its place.
  let pattern: unknown;
  try {
    pattern = JSON.parse(`${before}${placeholder}${after}`);
  } catch {
    return undefined;
  }
  const found = textIn(pattern);
  return isObject(pattern) && found?.text === placeholder ? new Repetition(before, after, pattern, found.holder, found.field) : undefined;
}

/** Returns the first piece of text in a value, and the object that has it in a field. */
function textIn(value: unknown): { holder: Record<string, unknown>; field: string; text: string } | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [field, part] of Object.entries(value)) {
    if (typeof part === 'string') {
      if (part !== '' && textFields.has(field)) return { holder: value as Record<string, unknown>, field, text: part };
    } else {
      const inside = textIn(part);
      if (inside !== undefined) return inside;
    }
  }
  return undefined;
}
