// How much the model reasons, in the words of OpenAI's formats. Pure.
import type { GenerateRequest } from '#proto/inference/v1/inference.js';
import { callersNameOf } from '../requests/native.js';

/** Returns the reasoning effort. Returns undefined for "disabled": models that do not reason reject the field itself. */
export function reasoningEffort(
  request: Pick<GenerateRequest, 'native' | 'reasoning'>,
  isRefused: boolean,
  dropped: Set<string>,
): string | undefined {
  if (request.reasoning === undefined) return undefined;
  const { effort, budgetTokens, disabled } = request.reasoning;
  if (disabled || isRefused) {
    if (disabled || budgetTokens !== undefined) dropped.add(callersNameOf('thinking', request));
    if (!disabled && effort !== '') dropped.add(callersNameOf('output_config.effort', request));
    return undefined;
  }
  if (effort !== '') return effort;
  if (budgetTokens === undefined) return undefined;
  if (budgetTokens < 4096) return 'low';
  return budgetTokens < 16_384 ? 'medium' : 'high';
}
