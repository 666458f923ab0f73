// Counts the usage of a call that was cancelled before its upstream reported any.
import type { CallContext } from '#client/call-context.js';
import { fieldFault } from '#client/errors/fault.js';
import type { CountedInput, CountUsageRequest, CountUsageResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { countOutput } from '../tokens/count-output.js';
import { estimateInput, readableOf, type Recipient, unknownRecipient } from '../tokens/estimate.js';

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
  // The upstream may have been removed since the call.
  recipient: Recipient = unknownRecipient,
): Promise<number> {
  const native = nativeFormat === undefined ? undefined : { format: nativeFormat, foreignTokens };
  return Math.min(await estimateInput(readableOf({ prompt, responseFormat, native }, recipient), model), tokensMax);
}
