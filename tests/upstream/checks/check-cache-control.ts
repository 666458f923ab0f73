// The rules for cache_control, which apply to a messages request as a whole.
import { insist, isJson, type Json, objectOf, wordOf } from './check.js';

/** Raises Refused for an unknown cache_control, for more than four of them, and for a long one after a short one. */
export function checkCacheControl(body: Json): void {
  // In the order of the prompt.
  const marks = [...marksIn(body['tools'], 'tools'), ...marksIn(body['system'], 'system'), ...marksIn(body['messages'], 'messages')];
  if (isJson(body['cache_control'])) marks.push({ ttl: ttlOf(body['cache_control'], 'cache_control'), path: 'cache_control' });
  insist(marks.length <= 4, `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`);
  let hasShort = false;
  for (const { ttl, path } of marks) {
    insist(ttl === '5m' || !hasShort, `${path}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.`);
    hasShort ||= ttl === '5m';
  }
}

interface Mark {
  readonly ttl: string;
  readonly path: string;
}

function marksIn(value: unknown, path: string): Mark[] {
  if (Array.isArray(value)) return value.flatMap((inner, index) => marksIn(inner, `${path}.${index}`));
  if (!isJson(value)) return [];
  const own = value['cache_control'];
  const inner = marksIn(value['content'], `${path}.content`);
  if (own === undefined || own === null) return inner;
  insist(value['type'] !== 'thinking' && value['type'] !== 'redacted_thinking', `${path}.cache_control: Extra inputs are not permitted`);
  insist(value['type'] !== 'text' || value['text'] !== '', `${path}: cache_control cannot be set for empty text blocks`);
  return [...inner, { ttl: ttlOf(own, `${path}.cache_control`), path }];
}

function ttlOf(value: unknown, path: string): string {
  const { type, ttl } = objectOf(value, path, ['type'], ['ttl']);
  wordOf(type, `${path}.type`, ['ephemeral']);
  return ttl === undefined || ttl === null ? '5m' : wordOf(ttl, `${path}.ttl`, ['5m', '1h']);
}
