// The rules for marks of the prompt cache, which hold over the whole of a request. Pure.
import { type Block, cacheControl } from './content.js';

/** Most marks that the vendor takes in one request. */
export const cacheMarksMax = 4;

/**
 * Takes away marks beyond the fourth from the end: a mark caches all that stands before it, so the last ones cover the most, and the
 * vendor finds earlier cached beginnings by itself. A mark of an hour behind one of five minutes is refused, and becomes one of
 * five minutes, which costs less. Returns whether a mark was taken away or shortened. `blocks` are in the order of the prompt.
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
