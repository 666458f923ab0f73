// Sampling parameters that the model and the vendor version accept. Pure.
import type { Sampling } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import type { ModelTraits } from './model-traits.js';

// From this version on, any sampling parameter is an error.
const firstVersionWithoutSampling = '2026-10-21';

/** Holds what else in the request restricts sampling. */
export interface SamplingConditions {
  readonly version: string;
  readonly traits: ModelTraits;
  /** Whether thinking is enabled. */
  readonly thinks: boolean;
}

/** Returns the fields to send. Adds the names of those that are not sent and would have had an effect to `dropped`. */
export function samplingFields(
  sampling: Sampling | undefined,
  { version, traits, thinks }: SamplingConditions,
  dropped: Set<string>,
): JsonObject {
  if (sampling === undefined) return {};
  const { temperature, topP, topK, seed, frequencyPenalty, presencePenalty } = sampling;
  if (seed !== undefined) dropped.add('seed');
  if (frequencyPenalty) dropped.add('frequency_penalty');
  if (presencePenalty) dropped.add('presence_penalty');
  const takesNone = version >= firstVersionWithoutSampling || traits.sampling === 'none';
  // The temperature of other formats goes up to 2, that of this one up to 1. With thinking the vendor accepts only the default, and a top_p close to it.
  const fields = {
    temperature: takesNone || (thinks && temperature !== 1) ? undefined : limited(temperature),
    top_p: takesNone || (thinks && (topP ?? 1) < 0.95) || (traits.sampling === 'one' && temperature !== undefined) ? undefined : topP,
    top_k: takesNone || thinks ? undefined : topK,
  };
  if (fields.temperature === undefined && (temperature ?? 1) !== 1) dropped.add('temperature');
  if (fields.top_p === undefined && (topP ?? 1) !== 1) dropped.add('top_p');
  if (fields.top_k === undefined && topK !== undefined) dropped.add('top_k');
  return fields;
}

function limited(temperature: number | undefined): number | undefined {
  return temperature === undefined ? undefined : Math.min(1, temperature);
}
