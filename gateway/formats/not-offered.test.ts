import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { root } from '#kit/root.js';
import { notOfferedAt, notOfferedMessage } from './not-offered.js';

/** Returns the first segments of every path that a vendor's library requests. */
function pathsOf(library: string): string[] {
  const folder = join(fileURLToPath(root), 'node_modules', library, 'resources');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.mjs'));
  const found = files.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/\.(?:get|post|put|patch|delete|getAPIList)\((?:path)?['`](\/[^'`?$]*)/g)].map(
      ([, path]) => path!,
    ),
  );
  return [...new Set(found)];
}

const isOffered = (path: string): boolean =>
  /^(?:\/v1)?\/(?:chat\/completions|messages|messages\/count_tokens|models|embeddings|responses)(?:\/|$)/.test(path);

describe('a path of a vendor that is not offered', () => {
  it.each(['openai', '@anthropic-ai/sdk'])('is known, for every request that %s can send', (library) => {
    const paths = pathsOf(library);
    expect(paths.length).toBeGreaterThan(15);
    expect(paths.filter((path) => notOfferedAt(path) === undefined && !isOffered(path))).toEqual([]);
  });

  it('is recognised under each base URL, and below it', () => {
    for (const path of ['/v1/batches', '/batches', '/v1/v1/batches', '/v1/batches/batch_1/cancel'])
      expect(notOfferedAt(path)?.what).toBe('Batches');
    expect(notOfferedAt('/v1/messages/batches')?.nearest).toBe('POST /v1/messages');
    expect(notOfferedAt('/v1/responses/resp_1/cancel')?.nearest).toBe('POST /v1/responses');
    expect(notOfferedAt('/v1/responses/resp_1')?.nearest).toBe('POST /v1/responses');
    expect(notOfferedAt('/v1/compliance/review/cases')?.nearest).toBe('/docs/console-api');
    for (const path of ['/v1/nothing', '/', '/v1', '/batchesx', '/v1/messages']) expect(notOfferedAt(path)).toBeUndefined();
  });

  it('names what to use in its place', () => {
    for (const path of ['/v1/conversations', '/v1/threads'])
      expect(notOfferedMessage(notOfferedAt(path)!)).toContain(
        'Continue a stored response with previous_response_id in POST /v1/responses',
      );
    expect(notOfferedMessage(notOfferedAt('/v1/audio/speech')!)).toBe(
      'Audio is not offered here. Use POST /v1/chat/completions, which passes audio input on to upstreams of its format and returns text. /docs/not-offered lists everything that is not offered.',
    );
  });
});
