// How much the model shall think, in the words that it takes. Pure.
import type { Reasoning } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../stream-decoder.js';
import type { ModelTraits } from './model-traits.js';

/** Smallest budget that the vendor takes for thinking, in tokens. */
export const thinkingBudgetMin = 1024;

/** What else in the request decides whether the model may think. */
export interface ThinkingConditions {
  readonly maxTokens: number;
  readonly traits: ModelTraits;
  /** A tool must be called, which goes with no thinking. */
  readonly forcesTool: boolean;
  /** The answer is begun by the caller, or results come back to a turn that holds no signed thoughts: no thinking with a budget can follow. */
  readonly isMidTurn: boolean;
}

/** The fields, and what they mean for the rest of the request. */
export interface ThinkingPlan {
  readonly thinking?: JsonObject;
  readonly effort?: string;
  /** The forced tool has to give way, since the caller asked for thinking in so many tokens. */
  readonly freesTool: boolean;
  /** The caller's wish could not be honoured. */
  readonly isDropped: boolean;
}

const efforts: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};
const budgets: Readonly<Record<string, number>> = { low: 1024, medium: 4096, high: 16_384, xhigh: 32_768, max: 63_999 };

const none: ThinkingPlan = { freesTool: false, isDropped: false };

/** Thinking off, or a budget, or an effort; never two that contradict each other. */
export function planThinking(reasoning: Reasoning | undefined, conditions: ThinkingConditions): ThinkingPlan {
  if (reasoning === undefined) return none;
  const { traits } = conditions;
  if (reasoning.disabled || reasoning.effort === 'none') return traits.thinksByDefault ? { ...none, thinking: { type: 'disabled' } } : none;
  if (reasoning.effort === '' && reasoning.budgetTokens === undefined) return none;
  if (traits.thinking === 'never') return { ...none, isDropped: true };
  if (reasoning.budgetTokens !== undefined && traits.takesBudget) return withBudget(reasoning.budgetTokens, reasoning, conditions);
  return traits.thinking === 'budget' ? fromEffort(reasoning.effort, conditions) : withEffort(reasoning, conditions);
}

/** The caller's own budget is plainer than a forced tool, which gives way. */
function withBudget(tokens: number, { effort }: Reasoning, { maxTokens, traits, forcesTool, isMidTurn }: ThinkingConditions): ThinkingPlan {
  const saidEffort = traits.thinking === 'budget' || effort === '' ? {} : { effort: effortFor(effort, traits) };
  const budget = Math.min(tokens, maxTokens - 1);
  if (budget < thinkingBudgetMin || isMidTurn) return { ...none, ...saidEffort, isDropped: true };
  return { ...none, ...saidEffort, thinking: { type: 'enabled', budget_tokens: budget }, freesTool: forcesTool };
}

/** A budget in the place of an effort, for older models. It leaves at least half of the cap to the answer. */
function fromEffort(effort: string, { maxTokens, forcesTool, isMidTurn }: ThinkingConditions): ThinkingPlan {
  // Minimal reasoning is less than the least budget.
  if (effort === 'minimal') return none;
  const budget = Math.min(budgets[effort] ?? 0, Math.floor(maxTokens / 2));
  if (budget < thinkingBudgetMin || forcesTool || isMidTurn) return { ...none, isDropped: true };
  return { ...none, thinking: { type: 'enabled', budget_tokens: budget } };
}

function withEffort(reasoning: Reasoning, { maxTokens, traits, forcesTool }: ThinkingConditions): ThinkingPlan {
  const effort = effortFor(reasoning.effort || effortOf(reasoning.budgetTokens ?? 0), traits);
  // A forced tool goes without thinking, and the effort still says how much care to take.
  const thinks = traits.thinking === 'adaptive' && reasoning.effort !== 'minimal' && !forcesTool && maxTokens > 0;
  return { ...none, effort, ...(thinks ? { thinking: { type: 'adaptive' } } : {}) };
}

function effortFor(effort: string, { takesXhigh }: ModelTraits): string | undefined {
  const word = efforts[effort];
  return word === 'xhigh' && !takesXhigh ? 'high' : word;
}

function effortOf(budgetTokens: number): string {
  if (budgetTokens < 4096) return 'low';
  return budgetTokens < 16_384 ? 'medium' : 'high';
}
