// Counts tokens of texts by the o200k vocabulary, without holding up the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Prompt } from '#proto/inference/v1/inference.js';
import { messageTokensEstimate, promptTexts, roughTokens } from './prompt-text.js';

// A slice takes well under a millisecond for ordinary text, and about 5 ms for the worst (one letter repeated), for which
// gpt-tokenizer's time grows with the square of the length. A cut through a word costs at most one token too many per slice.
const sliceCharsMax = 2000;

/** Characters that are counted exactly in one call; what lies beyond is reckoned at four bytes a token. */
export const exactCharsMax = 1_000_000;

let loading: Promise<(text: string) => number> | undefined;

/** Loads the vocabulary (2 MB, a third of a second) once, when somebody first needs it. */
function load(): Promise<(text: string) => number> {
  loading ??= import('gpt-tokenizer/encoding/o200k_base').then(({ countTokens }) => {
    // Text that looks like a control token is text.
    const options = { disallowedSpecial: new Set<string>() };
    return (text: string) => countTokens(text, options);
  });
  return loading;
}

/** Tokens of the texts, each counted by itself. Gives way to other work between slices. */
export async function countTexts(texts: Iterable<string>): Promise<number> {
  const count = await load();
  let tokens = 0;
  let charsLeft = exactCharsMax;
  for (const text of texts) {
    const exact = Math.min(text.length, charsLeft);
    for (let start = 0; start < exact; start += sliceCharsMax) {
      tokens += count(text.slice(start, Math.min(start + sliceCharsMax, exact)));
      if (exact > sliceCharsMax) await nextTurn();
    }
    charsLeft -= exact;
    if (exact < text.length) tokens += roughTokens(Buffer.byteLength(text.slice(exact)));
  }
  return tokens;
}

/** Our own count of a prompt's input tokens. */
export async function countPrompt(prompt: Prompt): Promise<number> {
  return (await countTexts(promptTexts(prompt))) + messageTokensEstimate * prompt.messages.length;
}
