// Counts the usage of a call that was cancelled before its upstream reported any.
import type { CallContext } from '#client/call-context.js';
import { fieldFault } from '#client/errors/fault.js';
import type { CountUsageRequest, CountUsageResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { countOutput } from '../tokens/count-output.js';
import { estimateInput } from '../tokens/estimate.js';

/** Implements InferenceService.CountUsage. */
export async function countUsage(
  { upstreamModel, input, output }: CountUsageRequest,
  _context: CallContext,
  _deps: RpcDeps,
): Promise<CountUsageResponse> {
  if (upstreamModel === '') throw fieldFault('upstream_model', 'required');
  if (input !== undefined && input.prompt === undefined) throw fieldFault('input.prompt', 'required');
  const [inputTokens, outputCounts] = await Promise.all([
    input === undefined ? 0 : countInput(input, upstreamModel),
    output === undefined ? { outputTokens: 0, reasoningTokens: 0 } : countOutput(output, upstreamModel),
  ]);
  return { usage: { inputTokens, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, ...outputCounts } };
}

async function countInput({ prompt, responseFormat, tokensMax }: NonNullable<CountUsageRequest['input']>, model: string): Promise<number> {
  return Math.min(await estimateInput({ prompt: prompt!, responseFormat }, model), tokensMax);
}
