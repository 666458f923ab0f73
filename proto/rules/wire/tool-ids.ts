// Tool call ids in the form that the messages format accepts. Its callers and its upstreams receive the same ids, so that an id that a caller
// sends back identifies the same call, whichever upstream created it.
import { createHash } from 'node:crypto';

/** Returns the id in the characters of the format; ids from other vendors may contain other characters. The same id always gives the same result. */
export function messagesToolId(id: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(id)) return id;
  // The hash distinguishes ids that differ only in the replaced characters.
  return `${id.replace(/[^A-Za-z0-9_-]/g, '_')}_${createHash('sha256').update(id).digest('hex').slice(0, 8)}`;
}
