// The request features that a model is assumed to accept, by its name, where its vendor rejects others. Pure.
import { claudeGeneration } from '../../requests/claude-generation.js';

/** Describes what one model accepts. */
export interface ModelTraits {
  /** Sampling parameters: any; either temperature or top_p; only the defaults. */
  readonly sampling: 'any' | 'one' | 'none';
  /** How reasoning is requested: with a budget, adaptively with an effort, with an effort alone, or not at all. */
  readonly thinking: 'budget' | 'adaptive' | 'effort' | 'never';
  /** Whether a budget is accepted as well. */
  readonly takesBudget: boolean;
  /** Whether it thinks by default, so that thinking must be disabled explicitly. */
  readonly thinksByDefault: boolean;
  /** Whether `xhigh` is one of its efforts. */
  readonly takesXhigh: boolean;
  /** Whether instructions in the middle of a conversation may be their own turns. */
  readonly takesSystemTurns: boolean;
  /** Whether it follows a schema for the answer (`output_config.format`). */
  readonly takesSchemas: boolean;
}

/** A model that we know nothing about, or one of another vendor that uses the format. */
const unknownModel: ModelTraits = {
  sampling: 'any',
  thinking: 'effort',
  takesBudget: true,
  thinksByDefault: true,
  takesXhigh: true,
  takesSystemTurns: false,
  takesSchemas: true,
};

/**
 * Returns the traits for the generation in a Claude model's name, with or without a provider's prefix and a date. Sources: the vendor's migration
 * guides of 4.6 (adaptive thinking), 4.7 (no sampling, no budgets, xhigh), 4.8 (instructions as turns) and 5
 * (thinking by default).
 */
export function traitsOf(model: string): ModelTraits {
  const generation = claudeGeneration(model);
  if (generation === undefined) return unknownModel;
  return {
    sampling: generation >= 4.07 ? 'none' : generation >= 4.01 ? 'one' : 'any',
    thinking: generation >= 4.06 ? 'adaptive' : generation >= 3.07 ? 'budget' : 'never',
    takesBudget: generation >= 3.07 && generation < 4.07,
    thinksByDefault: generation >= 5,
    takesXhigh: generation >= 4.07,
    takesSystemTurns: generation >= 4.08,
    takesSchemas: generation >= 4.01,
  };
}
