// What a model is believed to take, by its name, as far as its vendor refuses the rest. Pure.
import { claudeGeneration } from '../../requests/claude-generation.js';

/** The particulars of one model. */
export interface ModelTraits {
  /** Sampling parameters: any; either temperature or top_p; only the defaults. */
  readonly sampling: 'any' | 'one' | 'none';
  /** How reasoning is asked for: with a budget, adaptively under an effort, by an effort alone; or not at all. */
  readonly thinking: 'budget' | 'adaptive' | 'effort' | 'never';
  /** A budget is taken beside that. */
  readonly takesBudget: boolean;
  /** It thinks unless told not to, so that "off" must be said. */
  readonly thinksByDefault: boolean;
  /** `xhigh` is one of its efforts. */
  readonly takesXhigh: boolean;
  /** Instructions in the middle of a conversation may be turns of their own. */
  readonly takesSystemTurns: boolean;
  /** It follows a schema of the answer (`output_config.format`). */
  readonly takesSchemas: boolean;
}

/** A model that we know nothing about, or of another vendor that speaks the format. */
const unknownModel: ModelTraits = {
  sampling: 'any',
  thinking: 'effort',
  takesBudget: true,
  thinksByDefault: true,
  takesXhigh: true,
  takesSystemTurns: true,
  takesSchemas: true,
};

/**
 * By the generation that a Claude model's name tells, with or without a provider's prefix and a date. Sources: the vendor's migration
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
