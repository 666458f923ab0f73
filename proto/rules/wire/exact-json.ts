// Parses JSON without changing the digits of large whole numbers, such as ids, which a tool would otherwise get wrong. Pure.

interface RawJson {
  readonly rawJSON: string;
}

// tc39.es/proposal-json-parse-with-source, which TypeScript's library does not declare.
const { parse, rawJSON, isRawJSON } = JSON as unknown as {
  parse(text: string, reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
};

/** JSON.parse changes no whole number with fewer digits. */
export const longDigitsMin = 16;
const hasLongDigits = new RegExp(`\\d{${longDigitsMin}}`);
const longNumber = new RegExp(`^\\s*-?\\d{${longDigitsMin},}\\s*$`);

/** Reports whether the text of a value is a whole number that JSON.parse may change. */
export function isLongNumber(json: string): boolean {
  return longNumber.test(json);
}

/**
 * Parses a JSON text. A whole number that JSON.parse would change becomes an object that JSON.stringify prints with the same digits; do not rebuild objects of the result
 * from their fields. Throws a SyntaxError as JSON.parse does.
 */
export function parseExactly(text: string): unknown {
  return hasLongDigits.test(text) ? parse(text, keepDigits) : (JSON.parse(text) as unknown);
}

function keepDigits(_name: string, value: unknown, { source = '' }: { readonly source?: string }): unknown {
  return typeof value === 'number' && String(value) !== source && isLongNumber(source) ? rawJSON(source) : value;
}

/** Returns a value from `parseExactly` as a number if it stands for one. */
export function inexact(value: unknown): unknown {
  return isRawJSON(value) ? Number(value.rawJSON) : value;
}
