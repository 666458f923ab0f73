// Reads a parsed JSON object field by field, and collects every fault instead of stopping at the first. Pure.
import { nearMatch } from '#kit/config/settings.js';
import { parseUsd } from '#rules/money/money.js';

/** Reads one object of the file. Values of the wrong type are reported as faults and read as empty ones. */
export class SeedReader {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();

  /** `path` is the object's place in the file; faults are added to `faults`. */
  constructor(
    value: unknown,
    private readonly path: string,
    readonly faults: string[],
  ) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    this.#fields = isObject ? (value as Record<string, unknown>) : {};
    if (!isObject) faults.push(`${path} must be an object`);
  }

  /** Adds a fault of a field. */
  fault(name: string, message: string): void {
    this.faults.push(`${this.path}.${name} ${message}`);
  }

  has(name: string): boolean {
    return name in this.#fields;
  }

  text(name: string): string {
    const value = this.#take(name);
    if (typeof value === 'string') return value;
    this.fault(name, 'must be a text');
    return '';
  }

  number(name: string): number {
    const value = this.#take(name);
    if (typeof value === 'number') return value;
    this.fault(name, 'must be a number');
    return 0;
  }

  /** Returns an amount in nano-USD. The file has it as a decimal USD text such as "0.125", because a JSON number might not be exact. */
  money(name: string): bigint {
    const value = this.#take(name);
    const nanoUsd = typeof value === 'string' ? parseUsd(value) : undefined;
    if (nanoUsd !== undefined) return nanoUsd;
    this.fault(name, 'must be a decimal USD amount as a string, such as "0.125"');
    return 0n;
  }

  /** Returns the value that `words` has for the text of a field; undefined, with a fault, if it has none. */
  word<T>(name: string, words: Readonly<Record<string, T>>): T | undefined {
    return this.#lookUp(name, this.#take(name), words);
  }

  /** Returns the values for a list of words. */
  words<T>(name: string, words: Readonly<Record<string, T>>): T[] {
    return this.#list(name).flatMap((word) => this.#lookUp(name, word, words) ?? []);
  }

  texts(name: string): string[] {
    return this.#list(name).flatMap((value) => {
      if (typeof value === 'string') return [value];
      this.fault(name, 'must be a list of texts');
      return [];
    });
  }

  /** Returns a reader of the object in a field. */
  object(name: string): SeedReader {
    return new SeedReader(this.#take(name), `${this.path}.${name}`, this.faults);
  }

  /** Returns a reader of each object of a list. */
  objects(name: string): SeedReader[] {
    return this.#list(name).map((value, index) => new SeedReader(value, `${this.path}.${name}[${index}]`, this.faults));
  }

  /** Adds a fault for every field that was not read, because a misspelt field must not be treated as absent. */
  end(): void {
    for (const name of Object.keys(this.#fields)) {
      if (this.#read.has(name)) continue;
      const near = nearMatch(name, [...this.#read]);
      this.fault(name, near === undefined ? 'is not a known field' : `is not a known field; did you mean ${near}?`);
    }
  }

  #take(name: string): unknown {
    this.#read.add(name);
    return this.#fields[name];
  }

  #list(name: string): unknown[] {
    const value = this.#take(name);
    if (Array.isArray(value)) return value;
    this.fault(name, 'must be a list');
    return [];
  }

  #lookUp<T>(name: string, word: unknown, words: Readonly<Record<string, T>>): T | undefined {
    if (typeof word === 'string' && Object.hasOwn(words, word)) return words[word];
    this.fault(name, `must be of ${Object.keys(words).join(', ')}`);
    return undefined;
  }
}
