// Events → the body of a messages answer.
import assert from 'node:assert/strict';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Block, Blocks } from '../blocks.js';
import type { AnswerContext, Collector } from '../format.js';
import type { ContentBlock, MessageAnswer, StopReasonName, Usage } from './answer-schema.js';

/** Collects a whole answer. */
export function collectMessage(context: AnswerContext): Collector {
  const blocks = new Blocks();
  return {
    push: (events: readonly Event[]) => blocks.push(events),
    finish(counts: TokenCounts): MessageAnswer {
      assert(blocks.finished, 'an answer is rendered only after its finished event');
      const kinds = new Set(blocks.list.map((block) => block.kind));
      return {
        ...emptyMessage(context, usageOf(counts)),
        content: blocks.list.flatMap(contentOf),
        ...endOf(blocks.stopReason, blocks.stopSequence, kinds),
      };
    },
  };
}

/** The answer before its content. */
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

/** The block for the caller; none when it is empty, because callers replay what they get and empty text is refused. */
function contentOf(block: Block): ContentBlock[] {
  switch (block.kind) {
    case 'text':
    case 'refusal':
      return block.text === '' ? [] : [{ type: 'text', text: block.text, citations: null }];
    case 'reasoning':
      if (block.redactedData !== '') return [{ type: 'redacted_thinking', data: block.redactedData }];
      // A signature without text is a thought whose display was omitted; the next turn needs it.
      return block.text === '' && block.signature === '' ? [] : [{ type: 'thinking', thinking: block.text, signature: block.signature }];
    case 'foreign':
      return [];
    case 'toolCall':
      return [{ type: 'tool_use', id: block.id, name: block.name, input: inputOf(block.argumentsJson), caller: { type: 'direct' } }];
  }
}

/** The arguments as an object. What a model wrote that is none is handed over as it is, for the caller has paid for it. */
function inputOf(argumentsJson: string): object {
  if (argumentsJson === '') return {};
  try {
    const input: unknown = JSON.parse(argumentsJson);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input;
  } catch {
    // Falls through: a model may write anything.
  }
  return { _raw: argumentsJson };
}

/** The answer's id: the request id's digits behind this format's prefix. */
export function answerId(requestId: string): string {
  return `msg_${requestId.replace(/^req_/, '')}`;
}

/** How the answer ended, in this format's words. */
export type End = Pick<MessageAnswer, 'stop_reason' | 'stop_sequence' | 'stop_details'>;

/** The end; what the answer holds decides before the upstream's label. */
export function endOf(stopReason: StopReason, stopSequence: string, kinds: ReadonlySet<Block['kind']>): End {
  const name = stopReasonName(stopReason, kinds);
  return {
    stop_reason: name,
    stop_sequence: name === 'stop_sequence' && stopSequence !== '' ? stopSequence : null,
    stop_details: name === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  };
}

function stopReasonName(stopReason: StopReason, kinds: ReadonlySet<Block['kind']>): StopReasonName {
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

/** Token counts in this format's words: input_tokens leaves out what was read from or written to a cache. */
export function usageOf(counts: TokenCounts): Usage {
  return {
    ...deltaUsageOf(counts),
    cache_creation: { ephemeral_5m_input_tokens: counts.cacheWrite5mTokens, ephemeral_1h_input_tokens: counts.cacheWrite1hTokens },
    service_tier: 'standard',
    inference_geo: null,
    speed: 'standard',
  };
}

/** The running totals that stand in message_delta. */
export function deltaUsageOf(counts: TokenCounts): Omit<Usage, 'cache_creation' | 'service_tier' | 'inference_geo' | 'speed'> {
  return {
    input_tokens: counts.inputTokens,
    cache_creation_input_tokens: counts.cacheWrite5mTokens + counts.cacheWrite1hTokens,
    cache_read_input_tokens: counts.cacheReadTokens,
    output_tokens: counts.outputTokens,
    output_tokens_details: { thinking_tokens: counts.reasoningTokens },
    server_tool_use: null,
  };
}
