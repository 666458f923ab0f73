// The hash of the beginning of a prompt, which routes calls to the target that has it cached. Pure.
import { subjectHash } from '#kit/limits/window-table.js';
import type { Part, Prompt } from '#proto/inference/v1/inference.js';

/** Only the beginning, the end and the length of a long text are hashed, so that the cost does not grow with the prompt. */
const headChars = 1024;
const tailChars = 256;

/** Returns the hash of the instructions and the first message, which all calls of a conversation share. `scope` separates callers. */
export function prefixHash(scope: string, { system, messages }: Prompt): number {
  let sample = scope;
  for (const text of system) sample += sampleOf(text);
  for (const part of messages[0]?.parts ?? []) sample += sampleOf(textOf(part));
  const [high, low] = subjectHash(sample);
  return high ^ low;
}

/** Returns a number in (0, 1) for a target and a prefix: each target has its own for each prefix. */
export function draw(prefix: number, targetHash: number): number {
  // The finaliser of MurmurHash3: every bit of the input changes every bit of the result.
  let mixed = Math.imul(prefix ^ targetHash, 0x9e3779b1) ^ targetHash;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 4_294_967_296 + 1 / 8_589_934_592;
}

function sampleOf(text: string): string {
  return text.length <= headChars + tailChars ? `\0${text}` : `\0${text.slice(0, headChars)}\0${text.length}\0${text.slice(-tailChars)}`;
}

function textOf({ part }: Part): string {
  switch (part?.$case) {
    case 'text':
      return part.value.text;
    case 'image':
    case 'document': {
      const { source } = part.value;
      if (source === undefined) return '';
      return source.$case === 'data' ? source.value.base64 : source.value;
    }
    default:
      return '';
  }
}
