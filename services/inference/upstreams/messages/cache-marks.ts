// The rules for prompt cache marks, which apply to the request as a whole. Pure.
import { type Block, cacheControl } from './content.js';

/** Maximum number of marks that the vendor accepts in one request. */
const cacheMarksMax = 4;

/**
 * Removes marks beyond the fourth from the end: a mark caches everything before it, so the last ones cover the most, and the
 * vendor finds earlier cached prefixes by itself. A mark of an hour after one of five minutes would be rejected, and becomes one of
 * five minutes, which costs less. Returns whether a mark was removed or shortened. `blocks` are in the order of the prompt.
 */
export function limitCacheMarks(blocks: readonly Block[]): boolean {
  const marks = [...markedIn(blocks)];
  const surplus = marks.splice(0, Math.max(0, marks.length - cacheMarksMax));
  for (const block of surplus) delete block['cache_control'];
  let isShort = false;
  let isShortened = false;
  for (const block of marks) {
    const isLong = (block['cache_control'] as Block)['ttl'] === '1h';
    if (isLong && isShort) {
      block['cache_control'] = cacheControl('5m');
      isShortened = true;
    }
    isShort ||= !isLong;
  }
  return surplus.length > 0 || isShortened;
}

function* markedIn(blocks: readonly Block[]): Generator<Block> {
  for (const block of blocks) {
    if (Array.isArray(block['content'])) yield* markedIn(block['content'] as Block[]);
    if (block['cache_control'] !== undefined) yield block;
  }
}
