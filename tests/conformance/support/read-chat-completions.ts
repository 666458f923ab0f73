// Reads an answer as a caller of the chat-completions format does, and asserts the rules for its frames.
import { expect } from '@jest/globals';
import type { Frame } from '../../../gateway/formats/testing/frames.js';
import { isJson, type Json } from '../../upstream/checks/check.js';
import { normalJson, nothing, type Seen, type SeenStop, type SeenUsage } from './seen.js';

const stops: Readonly<Record<string, SeenStop>> = {
  stop: 'end',
  length: 'max_tokens',
  tool_calls: 'tool_calls',
  content_filter: 'refusal',
};

/** Reads a whole answer. */
export function seenInCompletion(body: Json): Seen {
  expect(body).toMatchObject({
    object: 'chat.completion',
    id: expect.stringMatching(/^chatcmpl-/),
    created: expect.any(Number),
    model: expect.any(String),
  });
  const choice = (body['choices'] as Json[])[0]!;
  expect(choice).toMatchObject({ index: 0, logprobs: choice['logprobs'] ?? null });
  const message = choice['message'] as Json;
  // The format's schema requires all three; they may be null.
  expect(Object.keys(message)).toEqual(expect.arrayContaining(['role', 'content', 'refusal']));
  const seen = nothing();
  seen.text = textOf(message['content']);
  seen.refusal = textOf(message['refusal']);
  seen.reasoning = textOf(message['reasoning_content']);
  addSigned(seen, message['thinking_blocks']);
  seen.calls = ((message['tool_calls'] ?? []) as Json[]).map((call) => {
    const said = (call['function'] ?? call['custom']) as Json;
    return {
      id: call['id'] as string,
      name: said['name'] as string,
      arguments: normalJson((said['arguments'] ?? said['input']) as string),
    };
  });
  seen.stop = stops[choice['finish_reason'] as string];
  seen.usage = usageIn(body['usage']);
  return seen;
}

/** Reads a streamed answer. `wantsUsage`: the caller requested usage. */
export function seenInChunks(frames: readonly Frame[], wantsUsage: boolean): Seen {
  const seen = nothing();
  const error = frames.findIndex(({ data }) => isJson(data) && data['error'] !== undefined);
  const chunks = error === -1 ? frames.slice(0, -1) : frames.slice(0, error);
  if (error === -1) expect(frames.at(-1)?.data).toBe('[DONE]');
  else {
    // Nothing follows an error, not even [DONE].
    expect(frames).toHaveLength(error + 1);
    seen.error = ((frames[error]!.data as Json)['error'] as Json)['type'] as string;
  }
  for (const [at, frame] of chunks.entries()) readChunk(seen, frame, at === 0, wantsUsage);
  checkSequence(chunks, error === -1, wantsUsage);
  seen.calls = seen.calls.map((call) => ({ ...call, arguments: normalJson(call.arguments) }));
  return seen;
}

function readChunk(seen: Seen, frame: Frame, isFirst: boolean, wantsUsage: boolean): void {
  const chunk = frame.data as Json;
  expect(frame.event).toBeUndefined();
  expect(chunk).toMatchObject({
    object: 'chat.completion.chunk',
    id: expect.stringMatching(/^chatcmpl-/),
    created: expect.any(Number),
    choices: expect.any(Array),
  });
  expect(chunk).not.toHaveProperty('error');
  const usage = usageIn(chunk['usage']);
  const choices = chunk['choices'] as Json[];
  if (usage !== undefined) expect(choices).toEqual([]);
  expect('usage' in chunk).toBe(wantsUsage);
  seen.usage = usage ?? seen.usage;
  for (const choice of choices.filter(({ index }) => index === 0)) {
    const delta = choice['delta'] as Json;
    expect(isJson(delta)).toBe(true);
    expect(delta['role']).toBe(isFirst ? 'assistant' : undefined);
    seen.text += textOf(delta['content']);
    seen.refusal += textOf(delta['refusal']);
    seen.reasoning += textOf(delta['reasoning_content']);
    addSigned(seen, delta['thinking_blocks']);
    for (const fragment of (delta['tool_calls'] ?? []) as Json[]) addFragment(seen, fragment);
    if (typeof choice['finish_reason'] !== 'string') continue;
    expect(seen.stop).toBeUndefined();
    seen.stop = stops[choice['finish_reason']];
  }
}

/** Adds a fragment. Id, type and name are in the first fragment only; the others have an index and a piece of text. */
function addFragment(seen: Seen, fragment: Json): void {
  const index = fragment['index'] as number;
  const key = 'custom' in fragment ? 'custom' : 'function';
  const word = key === 'custom' ? 'input' : 'arguments';
  const said = fragment[key] as Json;
  expect(said[word]).toEqual(expect.any(String));
  if (index === seen.calls.length) {
    expect(fragment).toMatchObject({ index, id: expect.stringMatching(/./), type: key, [key]: { name: expect.stringMatching(/./) } });
    seen.calls.push({ id: fragment['id'] as string, name: said['name'] as string, arguments: said[word] as string });
    return;
  }
  expect(fragment).toEqual({ index, [key]: { [word]: said[word] } });
  // The Python library joins fragments by index, so that an index beyond the calls that have begun would leave a gap.
  expect(index).toBeLessThan(seen.calls.length);
  const call = seen.calls[index]!;
  seen.calls[index] = { ...call, arguments: call.arguments + String(said[word]) };
}

function checkSequence(frames: readonly Frame[], isComplete: boolean, wantsUsage: boolean): void {
  const chunks = frames.map(({ data }) => data as Json);
  expect(new Set(chunks.map(({ id, created, model }) => JSON.stringify([id, created, model]))).size).toBeLessThanOrEqual(1);
  const finishes = chunks.flatMap((chunk, at) =>
    (chunk['choices'] as Json[]).some((choice) => choice['index'] === 0 && typeof choice['finish_reason'] === 'string') ? [at] : [],
  );
  if (!isComplete) return expect(finishes).toEqual([]);
  expect(finishes).toHaveLength(1);
  const withUsage = chunks.flatMap((chunk, at) => (isJson(chunk['usage']) ? [at] : []));
  expect(withUsage).toEqual(wantsUsage ? [chunks.length - 1] : []);
}

function addSigned(seen: Seen, blocks: unknown): void {
  for (const block of (blocks ?? []) as Json[]) {
    if (block['type'] === 'redacted_thinking') seen.redacted.push(block['data'] as string);
    else seen.signatures.push(block['signature'] as string);
  }
}

function usageIn(usage: unknown): SeenUsage | undefined {
  if (!isJson(usage)) return undefined;
  const prompt = (usage['prompt_tokens_details'] ?? {}) as Record<string, number>;
  const completion = (usage['completion_tokens_details'] ?? {}) as Record<string, number>;
  const [cacheRead, cacheWrite] = [prompt['cached_tokens'] ?? 0, prompt['cache_write_tokens'] ?? 0];
  expect(usage['total_tokens']).toBe((usage['prompt_tokens'] as number) + (usage['completion_tokens'] as number));
  const input = (usage['prompt_tokens'] as number) - cacheRead - cacheWrite;
  return { input, cacheRead, cacheWrite, output: usage['completion_tokens'] as number, reasoning: completion['reasoning_tokens'] ?? 0 };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
