// Answers in the chat-completions format, as OpenAI's servers send them.
import type { Block, Script, Usage } from './script.js';
import { blocksOf, deltaChars, pieces, usageOf } from './text-pieces.js';

/** One SSE frame. */
export interface Frame {
  readonly text: string;
}

const id = 'chatcmpl-stub';
const created = 1_763_600_000;

/** The body of a non-streaming answer. */
export function completionBody(script: Script, request: Record<string, unknown>): unknown {
  const blocks = blocksOf(script);
  const join = (type: Block['type']): string | null => blocks.flatMap((block) => (block.type === type && 'text' in block ? [block.text] : [])).join('') || null;
  const reasoning = join('reasoning');
  const toolCalls = callsOf(script).map((call) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }));
  return {
    id,
    object: 'chat.completion',
    created,
    model: request['model'],
    choices: [
      {
        index: 0,
        finish_reason: finishReason(script),
        logprobs: null,
        message: {
          role: 'assistant',
          content: join('text'),
          refusal: join('refusal'),
          ...(reasoning === null ? {} : { reasoning_content: reasoning }),
          ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
        },
      },
    ],
    usage: usageJson(script, request),
  };
}

/** The frames of a streamed answer, `[DONE]` included. */
export function completionFrames(script: Script, request: Record<string, unknown>): Frame[] {
  const options = request['stream_options'];
  const asked = typeof options === 'object' && options !== null && (options as Record<string, unknown>)['include_usage'] === true;
  const usage = asked ? usageJson(script, request) : null;
  const place = script.usagePlace ?? 'last-chunk';
  const chunk = (delta: unknown, finish: string | null = null): unknown => ({
    ...base(request),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(asked ? { usage: place === 'every-chunk' || (place === 'finish-chunk' && finish !== null) ? usage : null } : {}),
  });
  const chunks = [
    chunk({ role: 'assistant', content: '', refusal: null }),
    ...deltas(script).map((delta) => chunk(delta)),
    chunk({}, finishReason(script)),
    ...(asked && usage !== null && place === 'last-chunk' ? [{ ...base(request), choices: [], usage }] : []),
  ];
  return [...chunks.map((value) => ({ text: `data: ${JSON.stringify(value)}\n\n` })), { text: 'data: [DONE]\n\n' }];
}

/** The format's error frame. */
export function completionErrorFrame(error: unknown): Frame {
  return { text: `data: ${JSON.stringify({ error })}\n\n` };
}

function base(request: Record<string, unknown>): Record<string, unknown> {
  return { id, object: 'chat.completion.chunk', created, model: request['model'], service_tier: 'default', system_fingerprint: 'fp_stub' };
}

function deltas(script: Script): unknown[] {
  const chars = deltaChars(script);
  const texts = blocksOf(script).flatMap((block): unknown[] => {
    if (block.type === 'text') return pieces(block.text, chars).map((content) => ({ content }));
    if (block.type === 'refusal') return pieces(block.text, chars).map((refusal) => ({ refusal }));
    return block.type === 'reasoning' ? pieces(block.text, chars).map((reasoning_content) => ({ reasoning_content })) : [];
  });
  const calls = callsOf(script).map((call, index) => [
    { tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] },
    ...pieces(call.arguments, chars).map((fragment) => ({ tool_calls: [{ index, function: { arguments: fragment } }] })),
  ]);
  return [...texts, ...(script.interleaveToolCalls === true ? interleave(calls) : calls.flat())];
}

/** The first of each list, then the second of each, and so on. */
function interleave(lists: unknown[][]): unknown[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => (index < list.length ? [list[index]] : []))).flat();
}

function callsOf(script: Script): Extract<Block, { type: 'tool_call' }>[] {
  return blocksOf(script).filter((block) => block.type === 'tool_call');
}

function finishReason(script: Script): string {
  return script.stopReason ?? (callsOf(script).length > 0 ? 'tool_calls' : 'stop');
}

function usageJson(script: Script, request: unknown): unknown {
  if (script.rawUsage !== undefined) return script.rawUsage;
  const usage = usageOf(script, request);
  return usage === undefined ? null : toJson(usage);
}

function toJson({ input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output, reasoning = 0 }: Usage): unknown {
  const prompt = input + cacheRead + cacheWrite5m + cacheWrite1h;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite5m + cacheWrite1h, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
  };
}
