// Tool call ids as the messages format takes them. Upstreams of the format are told the same ids (services/inference/upstreams/messages),
// so that an id which a caller sends back means the same call, whichever upstream made it.
import { createHash } from 'node:crypto';

/** The id in the characters of this format. The same id always gives the same. */
export function messagesToolId(id: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(id)) return id;
  // The hash keeps apart ids that differ only in the characters replaced.
  return `${id.replace(/[^A-Za-z0-9_-]/g, '_')}_${createHash('sha256').update(id).digest('hex').slice(0, 8)}`;
}
