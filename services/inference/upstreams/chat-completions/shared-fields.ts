// What OpenAI has in both of its formats and other vendors do not have. Pure.
import type { GenerateRequest } from '#proto/inference/v1/inference.js';
import { callersNameOf } from '../requests/native.js';
import { type ChatCompletionsFlavour, takesVerbosity } from './flavour.js';

/** Returns these fields for OpenAI, and removes them from the dropped ones. */
export function sharedFields(
  request: GenerateRequest,
  model: string,
  flavour: ChatCompletionsFlavour,
  dropped: Set<string>,
): Pick<GenerateRequest, 'verbosity' | 'promptCacheKey'> {
  const verbosity = takesVerbosity(flavour, model) ? request.verbosity : undefined;
  const promptCacheKey = flavour.isOpenAi ? request.promptCacheKey : undefined;
  if (verbosity !== undefined) dropped.delete(callersNameOf('verbosity', request));
  if (promptCacheKey !== undefined) dropped.delete('prompt_cache_key');
  return { verbosity, promptCacheKey };
}
