// The thread that counts tokens: it receives texts and posts numbers. It imports none of our sources, so that it also runs uncompiled.
import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

// gpt-tokenizer takes time quadratic in the length of a word, so text crafted to be slow has to be cut. A cut through
// a word costs at most one token too many.
const sliceCharsMax = 2000;

// Text that looks like a control token is counted as text.
const options = { disallowedSpecial: new Set<string>() };

parentPort!.on('message', (texts: readonly string[]) => {
  let tokens = 0;
  for (const text of texts) {
    for (let start = 0; start < text.length; start += sliceCharsMax)
      tokens += countTokens(text.slice(start, start + sliceCharsMax), options);
  }
  parentPort!.postMessage(tokens);
});
