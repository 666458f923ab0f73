// How much the model reasons, in the words of OpenAI's formats. Pure.
import type { Reasoning } from '#proto/inference/v1/inference.js';

/** Returns the reasoning effort. Returns undefined for "disabled": models that do not reason reject the field itself. */
export function reasoningEffort(reasoning: Reasoning | undefined, isRefused: boolean, dropped: Set<string>): string | undefined {
  if (reasoning === undefined) return undefined;
  const { effort, budgetTokens, disabled } = reasoning;
  if (disabled || isRefused) {
    if (disabled || budgetTokens !== undefined) dropped.add('thinking');
    if (!disabled && effort !== '') dropped.add('output_config.effort');
    return undefined;
  }
  if (effort !== '') return effort;
  if (budgetTokens === undefined) return undefined;
  if (budgetTokens < 4096) return 'low';
  return budgetTokens < 16_384 ? 'medium' : 'high';
}
