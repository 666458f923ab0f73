// Directives in the last user message that set the pace and the length of a sandbox answer. Pure.
import { type Prompt, Role } from '#proto/inference/v1/inference.js';

/** Longest pause before a token, in milliseconds. */
const delayMsMax = 10_000;

/** Longest answer that a directive can request, in tokens. */
const tokensMax = 100_000;

/** Holds what the user requested. */
export interface Directives {
  /** From "delay=20ms". */
  readonly delayMs: number | undefined;
  /** From "tokens=500". */
  readonly tokens: number | undefined;
}

/** Returns the directives in a text. Values beyond the bounds are clamped. */
export function readDirectives(text: string): Directives {
  return { delayMs: read(text, /\bdelay=(\d{1,9})ms\b/, delayMsMax), tokens: read(text, /\btokens=(\d{1,9})\b/, tokensMax) };
}

/** Returns the text of the last user message; empty if there is none. */
export function lastUserText(prompt: Prompt): string {
  const message = prompt.messages.findLast(
    ({ role, parts }) => role === Role.ROLE_USER && parts.some(({ part }) => part?.$case === 'text'),
  );
  return (message?.parts ?? []).map(({ part }) => (part?.$case === 'text' ? part.value.text : '')).join('');
}

function read(text: string, pattern: RegExp, max: number): number | undefined {
  const match = pattern.exec(text);
  return match === null ? undefined : Math.min(Number(match[1]), max);
}
