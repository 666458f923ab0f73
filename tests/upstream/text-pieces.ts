// Small helpers that both formats' encoders use.
import type { Block, Script, Usage } from './script.js';

/** A text in deltas of so many characters. */
export function pieces(text: string, chars: number): string[] {
  return Array.from({ length: Math.ceil(text.length / chars) }, (_, index) => text.slice(index * chars, (index + 1) * chars));
}

/** The answer's blocks. */
export function blocksOf(script: Script): readonly Block[] {
  return script.blocks ?? [{ type: 'text', text: 'Hello from the stub upstream.' }];
}

/** Characters in one delta. */
export function deltaChars(script: Script): number {
  return script.deltaChars ?? 8;
}

/** The usage that the script reports; words stand for tokens where it names none. */
export function usageOf(script: Script, body: unknown): Usage | undefined {
  if (script.usage === 'none') return undefined;
  const words = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
  const written = blocksOf(script).map((block) => ('text' in block ? block.text : 'arguments' in block ? block.arguments : block.data));
  return script.usage ?? { input: Math.max(1, words(JSON.stringify(body))), output: Math.max(1, words(written.join(' '))) };
}
