// Answers in the chat-completions format, as OpenAI's servers send them.
import type { Json } from '../checks/check.js';
import type { Block, Script, Usage } from '../script.js';
import { blocksOf, deltaChars, interleaved, pieces, usageOf, written, zeroed } from './text-pieces.js';

const id = 'chatcmpl-stub';
const created = 1_763_600_000;

/** Returns the body of a non-streaming answer. */
export function completionBody(script: Script, request: Json): Json {
  return {
    ...envelope('chat.completion', script, request),
    choices: choicesOf(script).map((blocks, index) => ({
      index,
      finish_reason: finishReason(script, blocks),
      logprobs: wholeLogprobs(blocks, script),
      message: message(blocks),
      ...script.atEnd,
    })),
    usage: usageJson(script, request),
  };
}

function message(blocks: readonly Block[]): Json {
  const join = (type: Block['type']): string | null =>
    blocks.flatMap((block) => (block.type === type && 'text' in block ? [block.text] : [])).join('') || null;
  const reasoning = join('reasoning');
  const calls = callsOf(blocks).map((call) => ({ id: call.id, ...opened(call, call.arguments) }));
  const annotations = annotationsOf(blocks);
  return {
    role: 'assistant',
    content: join('text'),
    refusal: join('refusal'),
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...Object.assign({}, ...blocks.map((block) => (block.type === 'vendor' ? block.delta : undefined))),
  };
}

/** Returns the chunks of a streamed answer as the vendor would send them. */
function completionChunks(script: Script, request: Json): Json[] {
  const options = request['stream_options'];
  const asked = typeof options === 'object' && options !== null && (options as Json)['include_usage'] === true;
  const usage = asked ? usageJson(script, request) : null;
  const place = script.usagePlace ?? 'last-chunk';
  const base = envelope('chat.completion.chunk', script, request);
  const chunk = (index: number, { logprobs = null, ...delta }: Json, finish: string | null = null, isFirst = false): Json => {
    const hasUsage =
      place === 'every-chunk' ||
      (place === 'finish-chunk' && finish !== null) ||
      (isFirst && (place === 'first-chunk' || place === 'zero-at-end'));
    return {
      ...base,
      choices: [{ index, delta, logprobs, finish_reason: finish, ...(finish === null ? {} : script.atEnd) }],
      ...(asked ? { usage: hasUsage ? usage : null } : {}),
    };
  };
  const streams = choicesOf(script).map((blocks, index) => [
    chunk(index, { role: 'assistant', content: '', refusal: null }, null, index === 0),
    ...deltas(blocks, script).map((delta) => chunk(index, delta)),
    chunk(index, {}, finishReason(script, blocks)),
  ]);
  const last = place === 'zero-at-end' ? zeroed(usage) : place === 'last-chunk' ? usage : null;
  return [...interleaved(streams), ...(asked && last !== null ? [{ ...base, choices: [], usage: last }] : [])];
}

/** Returns the frames of a streamed answer, including `[DONE]`. */
export function completionFrames(script: Script, request: Json): string[] {
  const done = script.style?.withoutDone === true ? [] : ['data: [DONE]\n\n'];
  return [...written(completionChunks(script, request), script, chunkFrame), ...done];
}

/** Returns a chunk as a frame. */
function chunkFrame(chunk: Json): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** Returns the format's error frame. */
export function completionErrorFrame(error: unknown): string {
  return `data: ${JSON.stringify({ error })}\n\n`;
}

function envelope(object: string, script: Script, request: Json): Json {
  return { id, object, created, model: request['model'], service_tier: 'default', system_fingerprint: 'fp_stub', ...script.envelope };
}

function choicesOf(script: Script): (readonly Block[])[] {
  return [blocksOf(script), ...(script.otherChoices ?? [])];
}

function deltas(blocks: readonly Block[], script: Script): Json[] {
  const chars = deltaChars(script);
  const texts = blocks.flatMap((block): Json[] => {
    switch (block.type) {
      case 'text':
        return pieces(block.text, chars).map((content) => ({
          content,
          ...(block.logprobs === true ? { logprobs: logprobs(content) } : {}),
        }));
      case 'refusal':
        return pieces(block.text, chars).map((refusal) => ({ refusal }));
      case 'reasoning':
        return pieces(block.text, chars).map((reasoning_content) => ({ reasoning_content }));
      case 'vendor':
        return block.delta === undefined ? [] : [block.delta];
      default:
        return [];
    }
  });
  const annotations = annotationsOf(blocks);
  const calls = callsOf(blocks).map((call, index) => [
    { tool_calls: [{ index, id: call.id, ...opened(call, '') }] },
    ...pieces(call.arguments, chars).map((fragment) => ({
      tool_calls: [{ index, ...(call.custom === true ? { custom: { input: fragment } } : { function: { arguments: fragment } }) }],
    })),
  ]);
  const callDeltas = script.interleaveToolCalls === true ? interleaved(calls) : calls.flat();
  return [...texts, ...(annotations.length === 0 ? [] : [{ annotations }]), ...callDeltas] as Json[];
}

function opened({ name, custom = false }: Extract<Block, { type: 'tool_call' }>, said: string): Json {
  return custom ? { type: 'custom', custom: { name, input: said } } : { type: 'function', function: { name, arguments: said } };
}

function wholeLogprobs(blocks: readonly Block[], script: Script): Json | null {
  const texts = blocks.flatMap((block) => (block.type === 'text' && block.logprobs === true ? pieces(block.text, deltaChars(script)) : []));
  return texts.length === 0 ? null : { content: texts.flatMap((piece) => logprobs(piece)['content']), refusal: null };
}

function logprobs(token: string): Json {
  return { content: [{ token, logprob: -0.25, bytes: [...Buffer.from(token)], top_logprobs: [] }], refusal: null };
}

function callsOf(blocks: readonly Block[]): Extract<Block, { type: 'tool_call' }>[] {
  return blocks.filter((block) => block.type === 'tool_call');
}

function annotationsOf(blocks: readonly Block[]): Json[] {
  return blocks.flatMap((block) => (block.type === 'text' ? (block.annotations ?? []) : []));
}

function finishReason(script: Script, blocks: readonly Block[]): string {
  return script.stopReason ?? (callsOf(blocks).length > 0 ? 'tool_calls' : 'stop');
}

function usageJson(script: Script, request: unknown): unknown {
  if (script.rawUsage !== undefined) return script.rawUsage;
  const usage = usageOf(script, request);
  return usage === undefined ? null : toJson(usage);
}

function toJson({ input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output, reasoning = 0 }: Usage): Json {
  const prompt = input + cacheRead + cacheWrite5m + cacheWrite1h;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite5m + cacheWrite1h, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
