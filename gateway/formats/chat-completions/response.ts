// Events → the body of a chat-completions answer.
import assert from 'node:assert/strict';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Block, Blocks } from '../blocks.js';
import type { AnswerContext, Collector } from '../format.js';
import { filled, type JsonObject } from '../rest.js';
import type { ThinkingBlock } from './answer-schema.js';
import { AnswerRest } from './rest.js';

/** Collects a whole answer. */
export function collectChatCompletion(context: AnswerContext): Collector {
  const blocks = new Blocks();
  const rest = new AnswerRest();
  const toolCalls = (): Block[] => blocks.list.filter((block) => block.kind === 'toolCall');
  return {
    push(events: readonly Event[]): void {
      for (const event of events) {
        const block = blocks.add(event);
        if (event.extraJson === undefined && event.event?.$case !== 'foreign') continue;
        const calls = toolCalls();
        rest.add(event, block?.kind === 'toolCall' ? calls.indexOf(block) : undefined, calls.length);
      }
    },
    finish(counts: TokenCounts): JsonObject {
      assert(blocks.finished, 'an answer is rendered only after its finished event');
      const choice = {
        index: 0,
        finish_reason: finishReason(
          blocks.stopReason,
          {
            hasToolCalls: blocks.list.some((block) => block.kind === 'toolCall'),
            hasRefusal: blocks.list.some(({ kind, text }) => kind === 'refusal' && text !== ''),
          },
          rest.finishReason,
        ),
        logprobs: null,
        ...rest.choice,
        message: filled(
          messageOf(
            blocks,
            toolCalls().map((block, index) => filled(toolCallOf(block), rest.ofToolCall(index))),
          ),
          { annotations: [], ...rest.message },
        ),
      };
      return {
        id: answerId(context.requestId),
        object: 'chat.completion',
        created: createdSeconds(context),
        model: context.model,
        ...rest.top,
        choices: [choice, ...rest.others()],
        usage: usageOf(counts, rest.usage),
      };
    },
  };
}

function messageOf(blocks: Blocks, toolCalls: JsonObject[]): JsonObject {
  const refusal = blocks.textOf('refusal') ?? '';
  const text = blocks.textOf('text') ?? '';
  const reasoning = blocks.textOf('reasoning');
  const signed = signedReasoning(blocks.list);
  return {
    role: 'assistant',
    // Clients that print the content of an answer without calls expect a string, even if it is empty.
    content: text === '' && (toolCalls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === undefined || reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(signed.length === 0 ? {} : { thinking_blocks: signed }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

function toolCallOf(block: Block): JsonObject {
  if (block.isCustom) return { id: block.id, type: 'custom', custom: { name: block.name, input: block.argumentsJson } };
  return {
    id: block.id,
    type: 'function',
    function: { name: block.name, arguments: block.argumentsJson === '' ? '{}' : block.argumentsJson },
  };
}

/** Returns reasoning that its vendor signed or sealed, in the form in which the caller may send it back; empty if there is none. */
export function signedReasoning(blocks: readonly Block[]): ThinkingBlock[] {
  return blocks.flatMap((block): ThinkingBlock[] => {
    if (block.redactedData !== '') return [{ type: 'redacted_thinking', data: block.redactedData }];
    return block.signature === '' ? [] : [{ type: 'thinking', thinking: block.text, signature: block.signature }];
  });
}

/** Returns the answer's id: this format's prefix and the digits of the request id. */
export function answerId(requestId: string): string {
  return `chatcmpl-${requestId.replace(/^req_/, '')}`;
}

/** Returns when the answer began, in whole seconds of Unix time. */
export function createdSeconds(context: AnswerContext): number {
  return Math.floor(context.createdAtMs / 1000);
}

/**
 * Returns the finish reason. The content of the answer takes precedence, because some upstreams say "stop" after tool calls and agents then halt; then
 * the events; then `native`, the upstream's own label if it says more than that the model was done.
 */
export function finishReason(
  stopReason: StopReason,
  { hasToolCalls, hasRefusal }: { readonly hasToolCalls: boolean; readonly hasRefusal: boolean },
  native = '',
): string {
  if (stopReason === StopReason.STOP_REASON_MAX_TOKENS || stopReason === StopReason.STOP_REASON_CONTEXT_FULL) return 'length';
  // A model that explains its refusal has ended its answer; libraries raise an error for an answer that a filter withheld.
  if (stopReason === StopReason.STOP_REASON_REFUSAL && !hasRefusal) return 'content_filter';
  if (hasToolCalls) return 'tool_calls';
  return native === '' || knownReasons.has(native) ? 'stop' : native;
}

// Each has a common form, so the stop reason of the events takes precedence.
const knownReasons = new Set(['stop', 'length', 'tool_calls', 'function_call', 'content_filter']);

/** Returns the token counts in this format: all input in prompt_tokens, all output in completion_tokens, plus other figures of the upstream. */
export function usageOf(counts: TokenCounts, rest: JsonObject = {}): JsonObject {
  const cacheWriteTokens = counts.cacheWrite5mTokens + counts.cacheWrite1hTokens;
  const promptTokens = counts.inputTokens + counts.cacheReadTokens + cacheWriteTokens;
  const recorded = {
    prompt_tokens: promptTokens,
    completion_tokens: counts.outputTokens,
    total_tokens: promptTokens + counts.outputTokens,
    prompt_tokens_details: { cached_tokens: counts.cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: counts.reasoningTokens },
  };
  return filled(filled(recorded, rest), unrecorded);
}

const unrecorded = {
  prompt_tokens_details: { audio_tokens: 0 },
  completion_tokens_details: { audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
};
