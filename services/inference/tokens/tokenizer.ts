// Counts tokens of texts by the o200k vocabulary, in separate threads and within bounds.
import { exactCharsMax } from '#rules/wire/answer-text.js';
import { CountPool } from './count-pool.js';
import { roughTokens } from './prompt-text.js';

/** Characters that a thread counts at a time: about 20 ms of ordinary text, which is how long another call waits for its turn. */
const pieceCharsMax = 32_000;

/** Time limit of one count, including the wait for its turns; after it, the rest is estimated. */
const exactTimeMsMax = 10_000;

const pool = new CountPool();

/** Returns the tokens of the texts, each counted separately. What cannot be counted within the bounds is estimated. */
export async function countTexts(
  texts: Iterable<string>,
  counter: Pick<CountPool, 'count'> = pool,
  withinMs = exactTimeMsMax,
): Promise<number> {
  const endsAtMs = performance.now() + withinMs;
  let tokens = 0;
  let charsLeft = exactCharsMax;
  let reckonedBytes = 0;
  for (const piece of piecesOf(texts)) {
    const chars = lengthOf(piece);
    const leftMs = endsAtMs - performance.now();
    const counted = chars <= charsLeft && leftMs > 0 ? await counter.count(piece, leftMs) : undefined;
    if (counted === undefined) {
      for (const text of piece) reckonedBytes += Buffer.byteLength(text);
      continue;
    }
    tokens += counted;
    charsLeft -= chars;
  }
  return tokens + roughTokens(reckonedBytes);
}

/** Yields the texts in order: short ones together, long ones cut. A cut through a word costs at most one token too many. */
function* piecesOf(texts: Iterable<string>): Generator<string[]> {
  let piece: string[] = [];
  let room = pieceCharsMax;
  for (const text of texts) {
    for (let start = 0; start < text.length;) {
      // A text that fits whole is not cut just because others came before it.
      if (text.length > room && room < pieceCharsMax) {
        yield piece;
        piece = [];
        room = pieceCharsMax;
      }
      const part = text.slice(start, start + room);
      piece.push(part);
      start += part.length;
      room -= part.length;
    }
  }
  if (piece.length > 0) yield piece;
}

function lengthOf(piece: readonly string[]): number {
  return piece.reduce((sum, text) => sum + text.length, 0);
}
