// The thread that counts tokens: texts come in, numbers go out. It imports no source of ours, so that it also runs unbuilt.
import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

// gpt-tokenizer's time grows with the square of the length of a word, so that text made to be slow has to be cut. A cut through
// a word costs at most one token too many.
const sliceCharsMax = 2000;

// Text that looks like a control token is text.
const options = { disallowedSpecial: new Set<string>() };

parentPort!.on('message', (texts: readonly string[]) => {
  let tokens = 0;
  for (const text of texts) {
    for (let start = 0; start < text.length; start += sliceCharsMax)
      tokens += countTokens(text.slice(start, start + sliceCharsMax), options);
  }
  parentPort!.postMessage(tokens);
});
