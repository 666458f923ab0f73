// Reads what a caller of the responses format receives, as its libraries do: text from deltas, and the response at the end.
import { expect } from '@jest/globals';
import type { Frame } from '../../../gateway/formats/testing/frames.js';
import { isJson, type Json } from '../../upstream/checks/check.js';
import { reasoningOf } from '#rules/wire/reasoning-seals.js';
import { normalJson, nothing, type Seen, type SeenStop, type SeenUsage } from './seen.js';

const reasons: Readonly<Record<string, SeenStop>> = { max_output_tokens: 'max_tokens', content_filter: 'refusal' };

/** Reads a whole answer. */
export function seenInResponse(body: Json): Seen {
  expect(body).toMatchObject({ object: 'response', id: expect.stringMatching(/^resp_/), model: expect.any(String), error: null });
  const seen = nothing();
  for (const item of body['output'] as Json[]) addItem(seen, item);
  const details = body['incomplete_details'];
  if (body['status'] === 'incomplete') seen.stop = reasons[(details as Json)['reason'] as string];
  else seen.stop = seen.calls.length > 0 ? 'tool_calls' : 'end';
  seen.usage = usageIn(body['usage']);
  return seen;
}

/** Reads a streamed answer, whose deltas must add up to the response at its end. */
export function seenInResponseEvents(frames: readonly Frame[]): Seen {
  const events = frames.map(({ data }) => data as Json);
  const last = events.at(-1)!;
  const response = last['response'] as Json;
  if (last['type'] === 'response.failed') return { ...nothing(), error: (response['error'] as Json)['code'] as string };
  const seen = seenInResponse(response);
  const said = (type: string): string =>
    events
      .filter((event) => event['type'] === `response.${type}.delta`)
      .map(({ delta }) => delta as string)
      .join('');
  expect([said('output_text'), said('refusal')]).toEqual([seen.text, seen.refusal]);
  expect(said('reasoning_summary_text') + said('reasoning_text')).toBe(seen.reasoning);
  return seen;
}

function addItem(seen: Seen, item: Json): void {
  switch (item['type']) {
    case 'message':
      for (const part of item['content'] as Json[]) {
        if (part['type'] === 'refusal') seen.refusal += part['refusal'] as string;
        else seen.text += (part['text'] as string | undefined) ?? '';
      }
      return;
    case 'reasoning': {
      for (const part of [...(item['summary'] as Json[]), ...((item['content'] ?? []) as Json[])]) seen.reasoning += part['text'] as string;
      const encrypted = item['encrypted_content'];
      if (typeof encrypted !== 'string') return;
      // What an upstream of another format signed is inside; what one of this format encrypted is unchanged.
      const { signature, redactedData } = reasoningOf(encrypted) ?? { signature: encrypted, redactedData: '' };
      if (signature !== '') seen.signatures.push(signature);
      if (redactedData !== '') seen.redacted.push(redactedData);
      return;
    }
    case 'function_call':
    case 'custom_tool_call':
      seen.calls.push({
        id: item['call_id'] as string,
        name: item['name'] as string,
        arguments: item['type'] === 'function_call' ? normalJson(item['arguments'] as string) : (item['input'] as string),
      });
  }
}

function usageIn(value: unknown): SeenUsage | undefined {
  if (!isJson(value)) return undefined;
  const usage = value as Record<string, number>;
  const input = value['input_tokens_details'] as Record<string, number>;
  const output = value['output_tokens_details'] as Record<string, number>;
  expect(usage['total_tokens']).toBe(usage['input_tokens']! + usage['output_tokens']!);
  const [cacheRead, cacheWrite] = [input['cached_tokens']!, input['cache_write_tokens']!];
  return {
    input: usage['input_tokens']! - cacheRead - cacheWrite,
    cacheRead,
    cacheWrite,
    output: usage['output_tokens']!,
    reasoning: output['reasoning_tokens']!,
  };
}
