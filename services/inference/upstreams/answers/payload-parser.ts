// Parses the payloads of one stream. A model that writes a text sends the same payload again and again with another piece of the text in it:
// such a payload is recognised by what surrounds the text, so only the first of them is parsed. Pure.
import type { Event } from '#proto/inference/v1/inference.js';
import { isObject, type JsonObject, parsePayload } from './stream-decoder.js';

/** The fields that hold the pieces of a text, in all wire formats. */
const textFields: ReadonlySet<string> = new Set([
  'arguments',
  'content',
  'delta',
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

/** The piece of text in which a payload differs from an earlier one. */
export interface Repeated {
  /** The object that has it in a field. */
  readonly holder: JsonObject;
  readonly field: string;
  readonly text: string;
}

/** Parses one stream. */
export class PayloadParser {
  /** How the last payload differs from an earlier one; undefined if it was parsed by itself. */
  repeated: Repeated | undefined;
  #repetition: Repetition | undefined;
  #hasParsed = false;
  #unused = 0;

  /**
   * Returns the object in a payload, equal to what JSON.parse returns; it may change with the next call. Raises upstream_failed if there is
   * none.
   */
  parse(payload: string): JsonObject {
    const object = this.#repetition?.parse(payload);
    this.repeated = object && this.#repetition;
    if (object !== undefined) {
      this.#unused = 0;
      return object;
    }
    return this.#parseNew(payload);
  }

  #parseNew(payload: string): JsonObject {
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

/** Reports whether events are this one piece of text, with nothing alongside it. */
export function isText(events: readonly Event[], text: string): boolean {
  const [only] = events;
  if (only?.event?.$case !== 'blockDelta' || events.length > 1 || only.extraJson !== undefined || only.envelopeJson !== undefined)
    return false;
  const { delta } = only.event.value;
  return delta?.$case === 'text' && delta.value === text;
}

/** Parses payloads that differ only in one text, and in their number if they are numbered. */
class Repetition {
  text = '';

  /**
   * `head` ends with the quotation mark that begins the text, `after` begins with the one that ends it; `holder` has the text in `field`. If the payloads are
   * numbered, `head` ends where the number begins, and `middle` is what is between the number and the text.
   */
  constructor(
    private readonly head: string,
    private readonly middle: string | undefined,
    private readonly after: string,
    private readonly object: Record<string, unknown>,
    readonly holder: Record<string, unknown>,
    readonly field: string,
  ) {}

  /** Returns the object in a payload; undefined if the payload differs in anything but the text and the number. */
  parse(payload: string): JsonObject | undefined {
    const { head, middle = '', after } = this;
    const numberEnd = middle === '' ? head.length : endOfNumber(payload, head.length);
    const begin = numberEnd + middle.length;
    const end = payload.length - after.length;
    // Comparing slices takes half as long as startsWith and endsWith.
    if (end < begin || payload.slice(end) !== after || payload.slice(0, head.length) !== head) return undefined;
    if (middle !== '' && (numberEnd === head.length || payload.slice(numberEnd, begin) !== middle)) return undefined;
    const text = unquoted(payload.slice(begin, end));
    if (text === undefined) return undefined;
    if (middle !== '') this.object[numberField] = Number(payload.slice(head.length, numberEnd));
    this.text = text;
    this.holder[this.field] = text;
    return this.object;
  }
}

/** The field with the number of an event, which the responses format has. */
const numberField = 'sequence_number';

/** Returns where the natural number ends that begins at `from`; `from` if there is none. */
function endOfNumber(payload: string, from: number): number {
  let end = from;
  for (let code = payload.charCodeAt(end); code >= 0x30 && code <= 0x39; code = payload.charCodeAt(end)) end += 1;
  // JSON has no leading zeros.
  return payload[from] === '0' && end > from + 1 ? from : end;
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
const placeholderNumber = 8_243_721_563;

/** Returns the repetition of which a payload may be the first; undefined if it has no text, or one that cannot be found in it. */
function repetitionOf(payload: string, object: JsonObject): Repetition | undefined {
  const held = textIn(object);
  if (held === undefined || held.text === placeholder) return undefined;
  const quoted = JSON.stringify(held.text);
  const begin = payload.indexOf(quoted, payload.indexOf(`"${held.field}"`)) + 1;
  if (begin === 0) return undefined;
  const before = payload.slice(0, begin);
  const after = payload.slice(begin + quoted.length - 2);
  // The text and the number may occur more than once. Wherever the placeholder is the whole of one, any other can be in its place.
  const number = /"sequence_number": ?(?=\d)/.exec(before);
  if (number !== null) {
    const head = before.slice(0, number.index + number[0].length);
    const middle = before.slice(endOfNumber(before, head.length));
    const pattern = patternOf(`${head}${placeholderNumber}${middle}${placeholder}${after}`);
    if (pattern?.object[numberField] === placeholderNumber)
      return new Repetition(head, middle, after, pattern.object, pattern.holder, pattern.field);
  }
  const pattern = patternOf(`${before}${placeholder}${after}`);
  return pattern && new Repetition(before, undefined, after, pattern.object, pattern.holder, pattern.field);
}

/** Returns the object in a payload whose text is the placeholder, and where it has the text; undefined if the text is another one. */
function patternOf(payload: string): { object: Record<string, unknown>; holder: Record<string, unknown>; field: string } | undefined {
  let object: unknown;
  try {
    object = JSON.parse(payload);
  } catch {
    return undefined;
  }
  const found = textIn(object);
  return isObject(object) && found?.text === placeholder ? { object, ...found } : undefined;
}

/** Returns the first piece of text in a value, and the object that has it in a field. */
function textIn(value: unknown): { holder: Record<string, unknown>; field: string; text: string } | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const holder = value as Record<string, unknown>;
  for (const field of Object.keys(holder)) {
    const part = holder[field];
    if (typeof part === 'string') {
      if (part !== '' && textFields.has(field)) return { holder, field, text: part };
    } else {
      const inside = textIn(part);
      if (inside !== undefined) return inside;
    }
  }
  return undefined;
}
