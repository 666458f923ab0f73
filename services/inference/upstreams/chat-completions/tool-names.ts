// Tool names as chat-completions upstreams take them: at most 64 letters, digits, "_" and "-", where the messages format allows 128. Pure.
import { createHash } from 'node:crypto';
import type { Tool } from '#proto/inference/v1/inference.js';

/** Longest name, in characters. */
const toolNameCharsMax = 64;

/** The name for the upstream: as it is, or cut short and cleaned, with a hash of the whole. */
export function toUpstreamToolName(name: string): string {
  if (name.length <= toolNameCharsMax && /^[\w-]*$/.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${name.slice(0, toolNameCharsMax - hash.length - 1).replace(/[^\w-]/g, '_')}_${hash}`;
}

/** Undoes toUpstreamToolName for the tools of one request; other names stay as they are. */
export function callerToolNames(tools: readonly Tool[]): (name: string) => string {
  const names = new Map(tools.map((tool) => [toUpstreamToolName(tool.name), tool.name]));
  return (name) => names.get(name) ?? name;
}
