// Tool names and call ids in the form that the upstreams of OpenAI's formats accept: names have at most 64 letters, digits, "_" and "-", where the
// messages format allows 128. Pure.
import { createHash } from 'node:crypto';
import type { Tool } from '#proto/inference/v1/inference.js';
import type { ChatCompletionsFlavour } from '../flavour.js';

/** Longest name, in characters. */
const toolNameCharsMax = 64;

// OpenAI rejects longer tool call ids in this format, and other vendors generate them.
const toolIdCharsMax = 40;

/** Returns the name for the upstream: unchanged, or shortened and cleaned, with a hash of the whole name. */
export function toUpstreamToolName(name: string): string {
  if (name.length <= toolNameCharsMax && /^[\w-]*$/.test(name)) return name;
  const hash = hashOf(name).slice(0, 16);
  return `${name.slice(0, toolNameCharsMax - hash.length - 1).replace(/[^\w-]/g, '_')}_${hash}`;
}

/** Returns a function that undoes toUpstreamToolName for the tools of one request; other names are unchanged. */
export function callerToolNames(tools: readonly Tool[]): (name: string) => string {
  const names = new Map(tools.map((tool) => [toUpstreamToolName(tool.name), tool.name]));
  return (name) => names.get(name) ?? name;
}

/** Returns the id of a tool call, shortened to this many characters; the same id always gives the same result. */
export function toUpstreamToolId(id: string, charsMax: number): string {
  if (id.length <= charsMax) return id;
  return `call_${hashOf(id).slice(0, charsMax - 'call_'.length)}`;
}

/** Returns the id of a tool call in the form that this server accepts; the same id always gives the same result. */
export function toServerToolId(id: string, { isOpenAi, isMistral }: Pick<ChatCompletionsFlavour, 'isOpenAi' | 'isMistral'>): string {
  if (isMistral === true) return /^[A-Za-z0-9]{9}$/.test(id) ? id : hashOf(id).slice(0, 9);
  return isOpenAi ? toUpstreamToolId(id, toolIdCharsMax) : id;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
