// Events → the body of a chat-completions answer.
import assert from 'node:assert/strict';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Block, Blocks } from '../blocks.js';
import type { AnswerContext, Collector } from '../format.js';
import type { ChatCompletion, FinishReason, Usage } from './answer-schema.js';

/** Collects a whole answer. */
export function collectChatCompletion(context: AnswerContext): Collector {
  const blocks = new Blocks();
  return {
    push: (events: readonly Event[]) => blocks.push(events),
    finish(counts: TokenCounts): ChatCompletion {
      assert(blocks.finished, 'an answer is rendered only after its finished event');
      const toolCalls = blocks.list.filter((block) => block.kind === 'toolCall');
      return {
        id: answerId(context.requestId),
        object: 'chat.completion',
        created: createdSeconds(context),
        model: context.model,
        choices: [
          {
            index: 0,
            finish_reason: finishReason(blocks.stopReason, toolCalls.length > 0),
            logprobs: null,
            message: messageOf(blocks, toolCalls),
          },
        ],
        usage: usageOf(counts),
      };
    },
  };
}

function messageOf(blocks: Blocks, toolCalls: Block[]): ChatCompletion['choices'][number]['message'] {
  const refusal = blocks.textOf('refusal');
  const text = blocks.textOf('text') ?? '';
  const reasoning = blocks.textOf('reasoning');
  const signed = signedReasoning(blocks.list);
  return {
    role: 'assistant',
    // Clients that print the content of an answer without calls expect a string, be it empty.
    content: text === '' && (toolCalls.length > 0 || refusal !== undefined) ? null : text,
    refusal: refusal ?? null,
    annotations: [],
    ...(reasoning === undefined || reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(signed.length === 0 ? {} : { thinking_blocks: signed }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map(toolCallOf) }),
  };
}

function toolCallOf(block: Block): { id: string; type: 'function'; function: { name: string; arguments: string } } {
  return { id: block.id, type: 'function', function: { name: block.name, arguments: block.argumentsJson === '' ? '{}' : block.argumentsJson } };
}

/** Reasoning that its vendor signed or sealed, in the form in which the caller may send it back; empty when there is none. */
export function signedReasoning(blocks: readonly Block[]): ThinkingBlock[] {
  return blocks.flatMap((block): ThinkingBlock[] => {
    if (block.redactedData !== '') return [{ type: 'redacted_thinking', data: block.redactedData }];
    return block.signature === '' ? [] : [{ type: 'thinking', thinking: block.text, signature: block.signature }];
  });
}

type ThinkingBlock = NonNullable<ChatCompletion['choices'][number]['message']['thinking_blocks']>[number];

/** The answer's id: the request id's digits behind this format's prefix. */
export function answerId(requestId: string): string {
  return `chatcmpl-${requestId.replace(/^req_/, '')}`;
}

/** When the answer began, in whole seconds. */
export function createdSeconds(context: AnswerContext): number {
  return Math.floor(context.createdAtMs / 1000);
}

/** The finish reason: what the answer holds decides first, for some upstreams say "stop" after tool calls and agents then halt. */
export function finishReason(stopReason: StopReason, hasToolCalls: boolean): FinishReason {
  switch (stopReason) {
    case StopReason.STOP_REASON_MAX_TOKENS:
    case StopReason.STOP_REASON_CONTEXT_FULL:
      return 'length';
    case StopReason.STOP_REASON_REFUSAL:
      return 'content_filter';
    default:
      return hasToolCalls ? 'tool_calls' : 'stop';
  }
}

/** Token counts in this format's words: all input in prompt_tokens, all output in completion_tokens. */
export function usageOf(counts: TokenCounts): Usage {
  const cacheWriteTokens = counts.cacheWrite5mTokens + counts.cacheWrite1hTokens;
  const promptTokens = counts.inputTokens + counts.cacheReadTokens + cacheWriteTokens;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: counts.outputTokens,
    total_tokens: promptTokens + counts.outputTokens,
    prompt_tokens_details: { cached_tokens: counts.cacheReadTokens, cache_write_tokens: cacheWriteTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: counts.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
