// Reads an answer as a caller of the messages format does, and asserts the rules for its frames.
import { expect } from '@jest/globals';
import type { Frame } from '../../../gateway/formats/testing/frames.js';
import { isJson, type Json } from '../../upstream/checks/check.js';
import { normalJson, nothing, type Seen, type SeenStop, type SeenUsage } from './seen.js';

const stops: Readonly<Record<string, SeenStop>> = {
  end_turn: 'end',
  max_tokens: 'max_tokens',
  tool_use: 'tool_calls',
  refusal: 'refusal',
  stop_sequence: 'stop_sequence',
  model_context_window_exceeded: 'context_full',
  pause_turn: 'pause',
};

/** Reads a whole answer. */
export function seenInMessage(body: Json): Seen {
  expect(body).toMatchObject({
    type: 'message',
    role: 'assistant',
    id: expect.stringMatching(/^msg_/),
    model: expect.any(String),
    stop_reason: expect.any(String),
  });
  expect(body).toHaveProperty('stop_sequence');
  const seen = nothing();
  for (const block of body['content'] as Json[]) addBlock(seen, block);
  seen.stop = stops[body['stop_reason'] as string];
  seen.usage = usageIn(body['usage']);
  return seen;
}

/** Reads a streamed answer. */
export function seenInEvents(frames: readonly Frame[]): Seen {
  const seen = nothing();
  const blocks: Json[] = [];
  let open: number | undefined;
  let stage: 'before' | 'within' | 'ending' | 'after' = 'before';
  for (const { event: name, data } of frames) {
    const event = data as Json;
    // Libraries silently ignore frames without a name.
    expect(name).toBe(event['type']);
    expect(stage).not.toBe('after');
    switch (name) {
      case 'message_start':
        expect(stage).toBe('before');
        expect(event['message']).toMatchObject({
          type: 'message',
          role: 'assistant',
          content: [],
          stop_reason: null,
          usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
        });
        expect(((event['message'] as Json)['usage'] as Json)['input_tokens']).toBeGreaterThan(0);
        stage = 'within';
        break;
      case 'content_block_start':
        expect({ stage, open, index: event['index'] }).toEqual({ stage: 'within', open: undefined, index: blocks.length });
        open = blocks.length;
        blocks.push(opened(event['content_block'] as Json));
        break;
      case 'content_block_delta':
        expect(event['index']).toBe(open);
        addDelta(blocks[open!]!, event['delta'] as Json);
        break;
      case 'content_block_stop':
        expect(event['index']).toBe(open);
        open = undefined;
        break;
      case 'message_delta':
        expect(['within', 'ending']).toContain(stage);
        expect(open).toBeUndefined();
        expect(event).toMatchObject({
          delta: { stop_reason: expect.any(String) },
          usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
        });
        seen.stop = stops[(event['delta'] as Json)['stop_reason'] as string];
        seen.usage = usageIn(event['usage']);
        stage = 'ending';
        break;
      case 'message_stop':
        expect(stage).toBe('ending');
        stage = 'after';
        break;
      case 'error':
        seen.error = (event['error'] as Json)['type'] as string;
        stage = 'after';
        break;
      default:
      // Pings and unknown events.
    }
  }
  expect(stage).toBe('after');
  for (const block of blocks) addBlock(seen, block);
  return seen;
}

/** Fields that must be in content_block_start, because clients append to them. */
const fields: Readonly<Record<string, Json>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { id: expect.stringMatching(/^[A-Za-z0-9_-]+$/), name: expect.stringMatching(/./), input: {} },
  redacted_thinking: { data: expect.stringMatching(/./) },
};

function opened(block: Json): Json {
  const wanted = fields[block['type'] as string];
  if (wanted !== undefined) expect(block).toMatchObject(wanted);
  return { ...block, json: '' };
}

const deltaKinds: Readonly<Record<string, readonly string[]>> = {
  text_delta: ['text'],
  citations_delta: ['text'],
  thinking_delta: ['thinking'],
  signature_delta: ['thinking'],
  input_json_delta: ['tool_use', 'server_tool_use'],
};

function addDelta(block: Json, delta: Json): void {
  const type = delta['type'] as string;
  if (deltaKinds[type] !== undefined) expect(deltaKinds[type]).toContain(block['type']);
  const append = (field: string, value: unknown): void => {
    expect(value).toEqual(expect.any(String));
    block[field] = String(block[field] ?? '') + String(value);
  };
  if (type === 'text_delta') append('text', delta['text']);
  else if (type === 'thinking_delta') append('thinking', delta['thinking']);
  else if (type === 'signature_delta') append('signature', delta['signature']);
  else if (type === 'input_json_delta') append('json', delta['partial_json']);
}

function addBlock(seen: Seen, block: Json): void {
  switch (block['type']) {
    case 'text':
      // A client that sends back an empty block would be refused.
      expect(block['text']).not.toBe('');
      seen.text += block['text'] as string;
      return;
    case 'thinking':
      seen.reasoning += block['thinking'] as string;
      if (block['signature'] !== '') seen.signatures.push(block['signature'] as string);
      return;
    case 'redacted_thinking':
      seen.redacted.push(block['data'] as string);
      return;
    case 'tool_use': {
      const json = (block['json'] as string | undefined) ?? '';
      seen.calls.push({
        id: block['id'] as string,
        name: block['name'] as string,
        arguments: json === '' ? JSON.stringify(block['input']) : normalJson(json),
      });
    }
  }
}

function usageIn(value: unknown): SeenUsage | undefined {
  if (!isJson(value)) return undefined;
  const usage = value as Record<string, number>;
  const details = (value['output_tokens_details'] ?? {}) as Record<string, number>;
  return {
    input: usage['input_tokens']!,
    cacheRead: usage['cache_read_input_tokens'] ?? 0,
    cacheWrite: usage['cache_creation_input_tokens'] ?? 0,
    output: usage['output_tokens']!,
    reasoning: details['thinking_tokens'] ?? 0,
  };
}
