// Small helpers that the encoders of all formats use.
import type { Json } from '../checks/check.js';
import type { Block, Script, Usage } from '../script.js';

/** Splits a text into deltas of this many characters, without splitting a character. */
export function pieces(text: string, chars: number): string[] {
  const letters = Array.from(text);
  return Array.from({ length: Math.ceil(letters.length / chars) }, (_, index) =>
    letters.slice(index * chars, (index + 1) * chars).join(''),
  );
}

/** Returns the answer's blocks. */
export function blocksOf(script: Script): readonly Block[] {
  return script.blocks ?? [{ type: 'text', text: 'Hello from the stub upstream.' }];
}

/** Returns the number of characters per delta. */
export function deltaChars(script: Script): number {
  return script.deltaChars ?? 8;
}

/** Returns the usage that the script reports; if it has none, words count as tokens. */
export function usageOf(script: Script, body: unknown): Usage | undefined {
  if (script.usage === 'none') return undefined;
  const words = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
  const written = [...blocksOf(script), ...(script.otherChoices ?? []).flat()].map((block) =>
    'text' in block ? block.text : 'arguments' in block ? block.arguments : 'data' in block ? block.data : '',
  );
  return script.usage ?? { input: Math.max(1, words(JSON.stringify(body))), output: Math.max(1, words(written.join(' '))) };
}

/** Returns a usage object with zero for every figure. */
export function zeroed(usage: unknown): unknown {
  if (typeof usage === 'number') return 0;
  if (typeof usage !== 'object' || usage === null) return usage;
  return Object.fromEntries(Object.entries(usage as Json).map(([key, value]) => [key, zeroed(value)]));
}

/** Returns the first element of each list, then the second of each, and so on. */
export function interleaved<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

/** Returns the stream's events as written to the wire, changed by the script. */
export function written(events: readonly Json[], script: Script, frame: (event: Json) => string): string[] {
  return (script.edit?.(events) ?? events).map((event) => (typeof event === 'string' ? event : frame(event)));
}
