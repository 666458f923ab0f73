// Reads the outline of a JSON text without parsing it, in a fraction of the time: it bounds the shape of a body beyond its size in bytes (code that
// walks a value must neither run out of stack nor occupy the process for seconds), and finds the text of each field. Pure.
import { isLongNumber, longDigitsMin } from '#rules/wire/exact-json.js';
import { AppError } from '#client/errors/app-error.js';

/** Nested arrays and objects. */
export const depthMax = 256;
/** Values of every kind, including those in arrays and objects: as many as a long list of token ids has. */
export const valuesMax = 1_000_000;
/** Fields of the body itself. Formats know at most 60; each costs as much work as several in nested objects. */
export const topFieldsMax = 256;
/** Fields of one nested object: as many as the largest schemas and maps have. */
export const objectFieldsMax = 4096;
/** Fields of all objects: as many as tens of thousands of messages have. Each takes a few microseconds to parse and check. */
export const fieldsMax = 100_000;

/** Describes a JSON text. It has a meaning only if JSON.parse accepts the text. */
export interface JsonOutline {
  /** The text of the value of each top-level field, by name; if a name is repeated, the last one. */
  readonly fields: ReadonlyMap<string, string>;
  /** The text of each element of the top-level field `messages` or `input` that is a list, by the name of the field. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
  /** The number of fields of all objects in the text. It is more than the parsed value has if a name is repeated. */
  readonly fieldCount: number;
  /** Whether no name of a field contains an escape, so that the text contains each name as it is. */
  readonly hasPlainNames: boolean;
  /** Whether a number has so many digits that JSON.parse may change it. */
  readonly hasLongNumbers: boolean;
  /** The length of the text without images and files, in characters. */
  readonly promptChars: number;
}

const quote = 0x22;
const backslash = 0x5c;
const openingBracket = 0x5b;

/** Names of the fields that hold images and files. */
const mediaNames: ReadonlySet<string> = new Set(['data', 'file_data', 'image_url', 'url']);
/** The fields that hold a conversation. */
const listNames: ReadonlySet<string> = new Set(['messages', 'input']);
/** A shorter text makes no difference to the size of a body. */
const mediaCharsMin = 1024;

/** The number of fields so far of the object at each depth. It is shared, because it serves only until the function that uses it returns. */
const counts = new Uint32Array(depthMax + 1);

/** Returns the outline. Throws invalid_request for a text that is nested too deeply, or has too many values or fields. */
export function outlineOf(json: string): JsonOutline {
  const fields = new Map<string, string>();
  const lists = new Map<string, string[]>();
  let elements: string[] = [];
  let depth = 0;
  let values = 0;
  let fieldCount = 0;
  let mediaChars = 0;
  let hasPlainNames = true;
  let hasLongNumbers = false;
  // The end of what precedes the current number, if there is one.
  let tokenEnd = 0;
  let nextBackslash = -1;
  // The latest string, which is a name if a colon follows.
  let stringAt = 0;
  let stringEnd = 0;
  let nameAt = 0;
  let nameEnd = 0;
  // The top-level field that has begun.
  let field = '';
  let valueAt = 0;
  // The element that has begun.
  let elementAt = 0;
  const endField = (end: number): void => {
    if (valueAt > 0) fields.set(field, json.slice(valueAt, end));
    valueAt = 0;
  };
  const endNumber = (end: number): void => {
    hasLongNumbers ||= end - tokenEnd > longDigitsMin && isLongNumber(json.slice(tokenEnd + 1, end));
    tokenEnd = end;
  };
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    switch (code) {
      case quote:
        stringAt = at + 1;
        stringEnd = endOfString(json, stringAt);
        at = stringEnd;
        tokenEnd = at;
        if (stringEnd - stringAt >= mediaCharsMin && mediaNames.has(json.slice(nameAt, nameEnd))) mediaChars += stringEnd - stringAt;
        break;
      case 0x3a: // :
        fieldCount += 1;
        counts[depth]! += 1;
        tokenEnd = at;
        if (nextBackslash < stringAt) nextBackslash = indexOr(json.length, json.indexOf('\\', stringAt));
        hasPlainNames &&= nextBackslash >= stringEnd;
        nameAt = stringAt;
        nameEnd = stringEnd;
        if (depth === 1) {
          field = json.slice(nameAt, nameEnd);
          valueAt = at + 1;
        }
        if (counts[depth]! > (depth === 1 ? topFieldsMax : objectFieldsMax) || fieldCount > fieldsMax)
          throw tooManyFields(field, depth, fieldCount);
        break;
      case 0x2c: // ,
        endNumber(at);
        values += 1;
        if (depth === 1) endField(at);
        else if (depth === 2 && elementAt > 0) {
          elements.push(json.slice(elementAt, at));
          elementAt = at + 1;
        }
        break;
      case openingBracket:
      case 0x7b: // {
        if (code === openingBracket && depth === 1 && listNames.has(field)) {
          lists.set(field, (elements = []));
          elementAt = at + 1;
        }
        tokenEnd = at;
        depth += 1;
        values += 1;
        counts[depth] = 0;
        if (depth > depthMax) throw new AppError('invalid_request', `The body is nested more than ${depthMax} levels deep.`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        endNumber(at);
        if (depth === 1) endField(at);
        else if (depth === 2 && elementAt > 0) {
          elements.push(json.slice(elementAt, at));
          elementAt = 0;
        }
        depth -= 1;
        break;
    }
    if (values > valuesMax)
      throw new AppError('invalid_request', `The body has more than ${valuesMax} values; send fewer messages or parts.`);
  }
  return { fields, lists, fieldCount, hasPlainNames, hasLongNumbers, promptChars: json.length - mediaChars };
}

function tooManyFields(field: string, depth: number, fieldCount: number): AppError {
  if (fieldCount > fieldsMax)
    return new AppError('invalid_request', `The body has more than ${fieldsMax} fields in all objects; send fewer messages or parts.`);
  if (depth === 1)
    return new AppError(
      'invalid_request',
      `The body has more than ${topFieldsMax} fields; leave out those that the API does not document.`,
    );
  const shown = field.slice(0, 64) || 'body';
  return new AppError(
    'invalid_request',
    `${shown}: an object in it has more than ${objectFieldsMax} fields; split it or send it as text.`,
    {
      details: { field: shown },
    },
  );
}

/** Returns where a string ends that begins at `from`: the position of its closing quotation mark. */
function endOfString(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (json.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return json.length;
}

function indexOr(none: number, index: number): number {
  return index < 0 ? none : index;
}

/**
 * Returns the outline of a parsed value's text, or undefined if another program may read something else in the text: where a name is repeated,
 * the last field counts here but the first one elsewhere.
 */
export function trusted(outline: JsonOutline, value: unknown): JsonOutline | undefined {
  return outline.hasPlainNames && outline.fieldCount === fieldCountOf(value) ? outline : undefined;
}

function fieldCountOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = Array.isArray(value) ? 0 : parts.length;
  for (const part of parts) count += fieldCountOf(part);
  return count;
}
