// The sandbox's own tokens: simple enough to count by hand, and exact for both counting and billing.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Prompt } from '#proto/inference/v1/inference.js';
import { promptTexts } from '../../tokens/prompt-text.js';

/** Maximum run of letters and digits in one token, in characters. */
const tokenCharsMax = 16;

/** Tokens added for each message and each tool. System instructions add none. */
export const sandboxOverhead = { message: 4, tool: 8 } as const;

// A run of letters and digits with the space before it, or else one character. No token is empty, so a text never has more tokens than
// UTF-8 bytes, which is what the gateway's bound on input relies on.
const tokenPattern = `[ ]?[\\p{L}\\p{N}]{1,${tokenCharsMax}}|[^]`;

// After this many tokens, other work gets its turn.
const tokensPerTurn = 1 << 16;

/** Returns at most `max` tokens of a text; joined, they give the text again. */
export function splitTokens(text: string, max: number): string[] {
  const tokens: string[] = [];
  for (const [token] of text.matchAll(new RegExp(tokenPattern, 'gu'))) {
    if (tokens.length >= max) break;
    tokens.push(token);
  }
  return tokens;
}

/** Returns exactly the input tokens that a call with this prompt is billed. */
export async function countSandboxInput(prompt: Prompt): Promise<number> {
  const pattern = new RegExp(tokenPattern, 'gu');
  let tokens = sandboxOverhead.message * prompt.messages.length + sandboxOverhead.tool * prompt.tools.length;
  let untilTurn = tokensPerTurn;
  for (const text of promptTexts(prompt)) {
    pattern.lastIndex = 0;
    while (pattern.test(text)) {
      tokens += 1;
      untilTurn -= 1;
      if (untilTurn > 0) continue;
      untilTurn = tokensPerTurn;
      await nextTurn();
    }
  }
  return tokens;
}
