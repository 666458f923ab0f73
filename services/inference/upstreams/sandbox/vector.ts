// The vectors of the sandbox's embedding model: texts with common words have similar ones. Pure.

/** Length of a vector if the request sets none. */
export const dimensionsDefault = 256;
/** Maximum length of a vector. */
export const dimensionsMax = 1024;

/** Coordinates that each token adds to. */
const drawsPerToken = 4;

/** Returns the vector of these tokens: the same for the same tokens in any order, and of length 1. */
export function vectorOf(tokens: readonly string[], dimensions: number): Float32Array {
  const sums = new Float64Array(dimensions);
  for (const token of tokens) {
    let hash = hashOf(token.trim().toLowerCase());
    for (let draw = 0; draw < drawsPerToken; draw += 1) {
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
      sums[(hash >>> 1) % dimensions]! += hash % 2 === 0 ? 1 : -1;
    }
  }
  const length = Math.hypot(...sums);
  // Tokens may cancel one another.
  if (length === 0) sums[0] = 1;
  return Float32Array.from(sums, (sum) => sum / (length || 1));
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash;
}
