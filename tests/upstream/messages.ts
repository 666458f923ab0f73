// Answers in the messages format, as Anthropic's servers send them.
import type { Frame } from './chat-completions.js';
import type { Block, Script, Usage } from './script.js';
import { blocksOf, deltaChars, pieces, usageOf } from './text-pieces.js';

const id = 'msg_stub';

/** The body of a non-streaming answer. */
export function messageBody(script: Script, request: Record<string, unknown>): unknown {
  return {
    ...envelope(request),
    content: blocksOf(script).map(contentBlock),
    stop_reason: stopReason(script),
    stop_sequence: script.stopSequence ?? null,
    usage: usageJson(script, request),
  };
}

/** The frames of a streamed answer. */
export function messageFrames(script: Script, request: Record<string, unknown>): Frame[] {
  const usage = usageJson(script, request);
  const start = usage === undefined ? { input_tokens: 0, output_tokens: 0 } : { ...(usage as Record<string, unknown>), output_tokens: 1, output_tokens_details: null };
  const events = [
    { type: 'message_start', message: { ...envelope(request), content: [], stop_reason: null, stop_sequence: null, usage: start } },
    { type: 'ping' },
    ...blocksOf(script).flatMap((block, index) => blockEvents(block, index, deltaChars(script))),
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(script), stop_sequence: script.stopSequence ?? null },
      ...(usage === undefined ? {} : { usage }),
    },
    { type: 'message_stop' },
  ];
  return events.map(frame);
}

/** The format's error frame. */
export function messageErrorFrame(error: unknown): Frame {
  return frame({ type: 'error', error });
}

interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

function frame(event: StreamEvent): Frame {
  return { text: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n` };
}

function envelope(request: Record<string, unknown>): Record<string, unknown> {
  return { id, type: 'message', role: 'assistant', model: request['model'], container: null, diagnostics: null, stop_details: null };
}

function contentBlock(block: Block): unknown {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: block.text, citations: null };
    case 'reasoning':
      return { type: 'thinking', thinking: block.text, signature: block.signature ?? '' };
    case 'redacted_reasoning':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_call':
      return { type: 'tool_use', id: block.id, name: block.name, input: JSON.parse(block.arguments || '{}') as unknown, caller: { type: 'direct' } };
  }
}

function blockEvents(block: Block, index: number, chars: number): StreamEvent[] {
  const { content_block, deltas } = streamed(block, chars);
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function streamed(block: Block, chars: number): { content_block: unknown; deltas: unknown[] } {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return { content_block: { type: 'text', text: '', citations: null }, deltas: pieces(block.text, chars).map((text) => ({ type: 'text_delta', text })) };
    case 'reasoning':
      return {
        content_block: { type: 'thinking', thinking: '', signature: '' },
        deltas: [
          ...pieces(block.text, chars).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block.signature ?? '' },
        ],
      };
    case 'redacted_reasoning':
      return { content_block: { type: 'redacted_thinking', data: block.data }, deltas: [] };
    case 'tool_call':
      return {
        content_block: { type: 'tool_use', id: block.id, name: block.name, input: {} },
        // The first fragment is often empty; a call without arguments has no other.
        deltas: ['', ...pieces(block.arguments, chars)].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      };
  }
}

function stopReason(script: Script): string {
  const kinds = blocksOf(script).map((block) => block.type);
  return script.stopReason ?? (kinds.includes('tool_call') ? 'tool_use' : kinds.includes('refusal') ? 'refusal' : 'end_turn');
}

function usageJson(script: Script, request: unknown): unknown {
  if (script.rawUsage !== undefined) return script.rawUsage;
  const usage = usageOf(script, request);
  return usage === undefined ? undefined : toJson(usage);
}

function toJson({ input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output, reasoning = 0 }: Usage): unknown {
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite5m + cacheWrite1h,
    cache_read_input_tokens: cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite5m, ephemeral_1h_input_tokens: cacheWrite1h },
    output_tokens: output,
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
  };
}
