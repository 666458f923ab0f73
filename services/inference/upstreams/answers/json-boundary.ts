// Finds where a JSON object or array that arrives in fragments is complete, reading each character once.

/** Follows one JSON text. */
export class JsonBoundary {
  #depth = 0;
  #begun = false;
  #inString = false;
  #escaped = false;

  /** Reads the next fragment. */
  push(fragment: string): void {
    for (let index = 0; index < fragment.length; index += 1) this.#see(fragment[index]!);
  }

  /** Reports whether an object or array has begun and everything that was opened is closed. */
  get isComplete(): boolean {
    return this.#begun && this.#depth === 0;
  }

  #see(character: string): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (character === '\\') this.#escaped = true;
      else if (character === '"') this.#inString = false;
      return;
    }
    if (character === '"') this.#inString = true;
    else if (character === '{' || character === '[') {
      this.#begun = true;
      this.#depth += 1;
    } else if (character === '}' || character === ']') this.#depth -= 1;
  }
}
