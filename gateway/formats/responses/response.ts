// Events → the body of a responses answer.
import assert from 'node:assert/strict';
import type { Event } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { AnswerContext, Collector, StoreFailure } from '../format.js';
import { filled, type JsonObject, without } from '../rest.js';
import { responseId } from './ids.js';
import { incompleteReasonOf, Output } from './output.js';
import { storeFailures } from './stored.js';

/** Collects a whole answer. */
export function collectResponse(context: AnswerContext): Collector {
  const output = new Output(context);
  return {
    push(events: readonly Event[]): void {
      for (const event of events) output.add(event);
    },
    finish(counts: TokenCounts, storeFailure?: StoreFailure): JsonObject {
      return endedResponse(context, output, counts, storeFailure);
    },
  };
}

/** Returns the answer once it has ended. */
export function endedResponse(context: AnswerContext, output: Output, counts: TokenCounts, storeFailure?: StoreFailure): JsonObject {
  assert(output.finished !== undefined, 'an answer is rendered only after its finished event');
  const reason = incompleteReasonOf(output);
  return responseWith(context, output.rest, {
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output: output.items(),
    usage: usageOf(counts, output.usageRest),
    ...(storeFailure === undefined ? {} : { store: false, store_failure: { code: storeFailure, message: storeFailures[storeFailure] } }),
  });
}

/** Returns the response object in this state, with what the upstream sent alongside it. */
export function responseWith(context: AnswerContext, rest: JsonObject, state: JsonObject): JsonObject {
  const ours = {
    id: responseId(context.requestId),
    object: 'response',
    created_at: Math.floor(context.createdAtMs / 1000),
    model: context.model,
    error: null,
    incomplete_details: null,
    ...context.echo?.fields,
    usage: null,
    ...state,
  };
  return { ...ours, ...without(rest, new Set([...Object.keys(ours), 'output_text', '__proto__'])) };
}

/** Returns the token counts in this format: all input in input_tokens, all output in output_tokens, plus other figures of the upstream. */
export function usageOf(counts: TokenCounts, rest: JsonObject = {}): JsonObject {
  const cacheWriteTokens = counts.cacheWrite5mTokens + counts.cacheWrite1hTokens;
  const inputTokens = counts.inputTokens + counts.cacheReadTokens + cacheWriteTokens;
  const recorded = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: counts.cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: counts.outputTokens,
    output_tokens_details: { reasoning_tokens: counts.reasoningTokens },
    total_tokens: inputTokens + counts.outputTokens,
  };
  return filled(recorded, rest);
}
