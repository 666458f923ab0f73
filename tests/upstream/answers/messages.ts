// Answers in the messages format, as Anthropic's servers send them.
import type { Json } from '../checks/check.js';
import type { Block, Script, Usage } from '../script.js';
import { blocksOf, deltaChars, pieces, usageOf, written, zeroed } from './text-pieces.js';

const id = 'msg_stub';

/** Returns the body of a non-streaming answer. */
export function messageBody(script: Script, request: Json): Json {
  return {
    ...envelope(script, request),
    content: blocksOf(script).flatMap(contentBlock),
    stop_reason: stopReason(script),
    stop_sequence: script.stopSequence ?? null,
    ...endOf(script),
    usage: usageJson(script, request),
  };
}

/** Returns the events of a streamed answer as the vendor would send them. */
function messageEvents(script: Script, request: Json): Json[] {
  const usage = usageJson(script, request);
  const start =
    usage === undefined ? { input_tokens: 0, output_tokens: 0 } : { ...(usage as Json), output_tokens: 1, output_tokens_details: null };
  const total =
    script.usagePlace === 'zero-at-end' ? { ...(zeroed(usage) as Json), output_tokens: (usage as Json)['output_tokens'] } : usage;
  return [
    { type: 'message_start', message: { ...envelope(script, request), content: [], stop_reason: null, stop_sequence: null, usage: start } },
    { type: 'ping' },
    ...blocksOf(script)
      .flatMap((block) => streamed(block, deltaChars(script)))
      .flatMap(blockEvents),
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(script), stop_sequence: script.stopSequence ?? null, ...endOf(script) },
      ...(total === undefined ? {} : { usage: total }),
    },
    { type: 'message_stop' },
  ];
}

/** Returns the frames of a streamed answer. */
export function messageFrames(script: Script, request: Json): string[] {
  return written(messageEvents(script, request), script, eventFrame);
}

/** Returns an event as a frame. */
function eventFrame(event: Json): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Returns the format's error frame. */
export function messageErrorFrame(error: unknown): string {
  return eventFrame({ type: 'error', error });
}

function envelope(script: Script, request: Json): Json {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model: request['model'],
    container: null,
    diagnostics: null,
    stop_details: null,
    ...script.envelope,
  };
}

function endOf(script: Script): Json {
  const refused = stopReason(script) === 'refusal' ? { stop_details: { type: 'refusal', category: 'cyber', explanation: null } } : {};
  return { ...refused, ...script.atEnd };
}

function contentBlock(block: Block): Json[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text, citations: block.citations ?? null }];
    case 'refusal':
      return [{ type: 'text', text: block.text, citations: null }];
    case 'reasoning':
      return [{ type: 'thinking', thinking: block.text, signature: block.signature ?? '' }];
    case 'redacted_reasoning':
      return [{ type: 'redacted_thinking', data: block.data }];
    case 'tool_call':
      return [
        {
          type: 'tool_use',
          id: block.id,
          name: block.name,
          input: JSON.parse(block.arguments || '{}') as unknown,
          caller: { type: 'direct' },
        },
      ];
    case 'vendor':
      return block.start === undefined ? [] : [withDeltas(block.start, block.deltas ?? [])];
  }
}

/** Returns a vendor's block as its deltas complete it: fragments of its input, and texts. */
function withDeltas(start: Json, deltas: readonly Json[]): Json {
  const block: Record<string, unknown> = { ...start };
  const input = deltas.flatMap(({ partial_json }) => (typeof partial_json === 'string' ? [partial_json] : [])).join('');
  if (input !== '') block['input'] = JSON.parse(input) as unknown;
  for (const { type: _, partial_json: __, ...texts } of deltas)
    for (const [name, text] of Object.entries(texts)) block[name] = `${String(block[name] ?? '')}${String(text)}`;
  return block;
}

interface StreamedBlock {
  readonly content_block: Json;
  readonly deltas: readonly Json[];
}

function blockEvents({ content_block, deltas }: StreamedBlock, index: number): Json[] {
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function streamed(block: Block, chars: number): StreamedBlock[] {
  switch (block.type) {
    case 'text':
    case 'refusal': {
      const citations = block.type === 'text' ? (block.citations ?? []) : [];
      const deltas = [
        ...pieces(block.text, chars).map((text) => ({ type: 'text_delta', text })),
        ...citations.map((citation) => ({ type: 'citations_delta', citation })),
      ];
      return [{ content_block: { type: 'text', text: '', citations: citations.length === 0 ? null : [] }, deltas }];
    }
    case 'reasoning': {
      const thinking = pieces(block.text, chars).map((text) => ({ type: 'thinking_delta', thinking: text }));
      return [
        {
          content_block: { type: 'thinking', thinking: '', signature: '' },
          deltas: [...thinking, { type: 'signature_delta', signature: block.signature ?? '' }],
        },
      ];
    }
    case 'redacted_reasoning':
      return [{ content_block: { type: 'redacted_thinking', data: block.data }, deltas: [] }];
    case 'tool_call': {
      // The first fragment is often empty; a call without arguments has only that one.
      const deltas = ['', ...pieces(block.arguments, chars)].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
      return [{ content_block: { type: 'tool_use', id: block.id, name: block.name, input: {}, caller: { type: 'direct' } }, deltas }];
    }
    case 'vendor':
      return block.start === undefined ? [] : [{ content_block: block.start, deltas: block.deltas ?? [] }];
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

function toJson({ input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output, reasoning = 0 }: Usage): Json {
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
