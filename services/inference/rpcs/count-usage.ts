// Counts the usage of a call that was cancelled before its upstream reported any.
import type { CallContext } from '#client/call-context.js';
import { fieldFault } from '#client/errors/fault.js';
import type { CountedInput, CountUsageRequest, CountUsageResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { countOutput } from '../tokens/count-output.js';
import { estimateInput } from '../tokens/estimate.js';
import { textOfReasoning } from '../tokens/prompt-text.js';
import type { Upstream } from '../upstreams/upstream.js';

/** Implements InferenceService.CountUsage. */
export async function countUsage(
  { upstreamModel, upstreamId, input, output }: CountUsageRequest,
  _context: CallContext,
  { registry }: RpcDeps,
): Promise<CountUsageResponse> {
  if (upstreamModel === '') throw fieldFault('upstream_model', 'required');
  if (input !== undefined && input.prompt === undefined) throw fieldFault('input.prompt', 'required');
  const [inputTokens, outputCounts] = await Promise.all([
    input === undefined ? 0 : countInput(input, upstreamModel, upstreamId === undefined ? undefined : registry.present(upstreamId)),
    output === undefined ? { outputTokens: 0, reasoningTokens: 0 } : countOutput(output, upstreamModel),
  ]);
  return { usage: { inputTokens, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, ...outputCounts } };
}

async function countInput(
  { prompt, responseFormat, tokensMax, nativeFormat, foreignTokens }: CountedInput,
  model: string,
  upstream: Upstream | undefined,
): Promise<number> {
  const readable = {
    prompt: prompt!,
    responseFormat,
    // The upstream may have been removed since the call.
    sends: upstream?.sentReasoning ?? textOfReasoning,
    foreignTokens: nativeFormat !== undefined && nativeFormat === upstream?.format ? (foreignTokens ?? 0) : 0,
  };
  return Math.min(await estimateInput(readable, model), tokensMax);
}
