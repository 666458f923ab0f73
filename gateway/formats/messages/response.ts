// Events → the body of a messages answer.
import assert from 'node:assert/strict';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Block, Blocks } from '../blocks.js';
import type { AnswerContext, Collector } from '../format.js';
import { type JsonObject, mergeInto, objectIn, parseObject } from '../rest.js';
import type { DeltaUsage, End, MessageAnswer, Usage } from './answer-schema.js';
import { addForeignDelta, blockWith, type EndRest, endRestOf, messageWith, usageWith } from './rest.js';
import { parseExactly } from '#rules/wire/exact-json.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';

/** Collects a whole answer. */
export function collectMessage(context: AnswerContext): Collector {
  const blocks = new Blocks();
  const starts = new Map<Block, JsonObject>();
  const shown = new Set<Block>();
  const message: JsonObject = {};
  let end = endRestOf(undefined);
  return {
    push(events: readonly Event[]): void {
      for (const event of events) {
        const block = blocks.add(event);
        if (event.extraJson === undefined) continue;
        const kind = event.event?.$case;
        if (kind === 'started') mergeInto(message, parseObject(event.extraJson), 'whole');
        if (kind === 'blockStart' && block !== undefined) starts.set(block, parseObject(event.extraJson));
        if (kind === 'blockDelta' && block?.kind === 'reasoning') shown.add(block);
        if (kind === 'finished') end = endRestOf(event.extraJson);
      }
    },
    finish(counts: TokenCounts): JsonObject {
      assert(blocks.finished, 'an answer is rendered only after its finished event');
      const kinds = new Set(blocks.list.map((block) => block.kind));
      const usage = usageWith(usageWith(usageOf(counts), objectIn(message, 'usage')), end.usage);
      return {
        ...messageWith(emptyMessage(context, usage), message),
        content: blocks.list.filter((block) => shown.has(block) || !isEmpty(block)).map((block) => contentOf(block, starts.get(block))),
        ...end.event,
        ...end.delta,
        ...endOf(blocks.stopReason, blocks.stopSequence, kinds, end),
      };
    },
  };
}

/** Returns the answer before its content. */
export function emptyMessage(context: AnswerContext, usage: Usage): MessageAnswer {
  return {
    id: answerId(context.requestId),
    type: 'message',
    role: 'assistant',
    model: context.model,
    container: null,
    diagnostics: null,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage,
  };
}

/** Returns a block as it opens, with all of its fields, because accumulators append to them. */
export function emptyContentOf(block: Block): JsonObject {
  switch (block.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: '', citations: null };
    case 'reasoning':
      return block.redactedData === ''
        ? { type: 'thinking', thinking: '', signature: '' }
        : { type: 'redacted_thinking', data: block.redactedData };
    case 'toolCall':
      return { type: 'tool_use', id: messagesToolId(block.id), name: block.name, input: {}, caller: { type: 'direct' } };
    case 'foreign':
      return parseObject(block.foreignJson);
  }
}

/** Returns the block for the caller. Fields alongside a delta are not part of it, because the vendor would reject them when the block is sent back. */
function contentOf(block: Block, rest: JsonObject | undefined): JsonObject {
  const content = blockWith(emptyContentOf(block), rest);
  if (block.text !== '') mergeInto(content, { [block.kind === 'reasoning' ? 'thinking' : 'text']: block.text }, 'pieces');
  if (block.signature !== '') content['signature'] = block.signature;
  for (const delta of block.foreignDeltas) addForeignDelta(content, delta);
  const argumentsJson = block.argumentsJson + block.foreignDeltas.map(fragmentIn).join('');
  if (argumentsJson !== '') content['input'] = inputOf(argumentsJson);
  return content;
}

/** Reports whether a block is left out: callers replay what they receive, and empty text is rejected. */
function isEmpty({ kind, text, signature, redactedData, foreignDeltas }: Block): boolean {
  if (kind === 'text' || kind === 'refusal') return text === '';
  // A signature without text is a thought whose display was omitted; the next turn needs it.
  return kind === 'reasoning' && text === '' && signature === '' && redactedData === '' && foreignDeltas.length === 0;
}

function fragmentIn(deltaJson: string): string {
  const { type, partial_json: fragment } = parseObject(deltaJson);
  return type === 'input_json_delta' && typeof fragment === 'string' ? fragment : '';
}

/** Returns the arguments as an object. Anything else that the model wrote is passed on unchanged, because the caller has paid for it. */
function inputOf(argumentsJson: string): object {
  try {
    const input = parseExactly(argumentsJson);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input;
  } catch {
    // Falls through: a model may write invalid JSON.
  }
  return { _raw: argumentsJson };
}

/** Returns the answer's id: this format's prefix and the digits of the request id. */
function answerId(requestId: string): string {
  return `msg_${requestId.replace(/^req_/, '')}`;
}

/** Returns how the answer ended. Its content takes precedence over the upstream's label, and a label without a common form over the common one. */
export function endOf(
  stopReason: StopReason,
  stopSequence: string,
  kinds: ReadonlySet<Block['kind']>,
  rest: EndRest = endRestOf(undefined),
): End {
  const common = stopReasonName(stopReason, kinds);
  const name = rest.stopReason === undefined || commonReasons.has(rest.stopReason) ? common : rest.stopReason;
  return {
    stop_reason: name,
    stop_sequence: name === 'stop_sequence' && stopSequence !== '' ? stopSequence : (rest.stopSequence ?? null),
    stop_details: rest.stopDetails ?? (name === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null),
  };
}

const commonReasons = new Set(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal', 'model_context_window_exceeded']);

function stopReasonName(stopReason: StopReason, kinds: ReadonlySet<Block['kind']>): string {
  switch (stopReason) {
    case StopReason.STOP_REASON_MAX_TOKENS:
      return 'max_tokens';
    case StopReason.STOP_REASON_CONTEXT_FULL:
      return 'model_context_window_exceeded';
    case StopReason.STOP_REASON_REFUSAL:
      return 'refusal';
    default:
      if (kinds.has('refusal')) return 'refusal';
      if (kinds.has('toolCall')) return 'tool_use';
      return stopReason === StopReason.STOP_REASON_STOP_SEQUENCE ? 'stop_sequence' : 'end_turn';
  }
}

/** Returns the token counts in this format: input_tokens excludes what was read from or written to a cache. */
export function usageOf(counts: TokenCounts): Usage {
  return {
    ...deltaUsageOf(counts),
    cache_creation: { ephemeral_5m_input_tokens: counts.cacheWrite5mTokens, ephemeral_1h_input_tokens: counts.cacheWrite1hTokens },
    service_tier: 'standard',
    inference_geo: null,
    speed: 'standard',
  };
}

/** Returns the running totals for message_delta. */
export function deltaUsageOf(counts: TokenCounts): DeltaUsage {
  return {
    input_tokens: counts.inputTokens,
    cache_creation_input_tokens: counts.cacheWrite5mTokens + counts.cacheWrite1hTokens,
    cache_read_input_tokens: counts.cacheReadTokens,
    output_tokens: counts.outputTokens,
    output_tokens_details: { thinking_tokens: counts.reasoningTokens },
    server_tool_use: null,
  };
}
