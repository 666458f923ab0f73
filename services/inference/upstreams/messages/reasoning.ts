// Requests how much the model thinks, in the form that it accepts. Pure.
import type { Reasoning } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import type { ModelTraits } from './model-traits.js';

/** Smallest thinking budget that the vendor accepts, in tokens. */
export const thinkingBudgetMin = 1024;

/** The name by which callers learn that their budget was lowered. */
export const budgetField = 'thinking.budget_tokens';

/** Holds what else in the request decides whether the model may think. */
export interface ThinkingConditions {
  readonly maxTokens: number;
  readonly traits: ModelTraits;
  /** Whether a tool must be called, which excludes thinking. */
  readonly forcesTool: boolean;
  /** Whether the caller begins the answer, or results answer a turn without signed thoughts: no thinking with a budget can follow. */
  readonly isMidTurn: boolean;
}

/** Holds the fields to send and their effect on the rest of the request. */
export interface ThinkingPlan {
  readonly thinking?: JsonObject;
  readonly effort?: string;
  /** Whether the forced tool becomes optional, because the caller requested thinking with an explicit budget. */
  readonly freesTool: boolean;
  /** Whether the caller's reasoning could not be honoured. */
  readonly isDropped: boolean;
  /** Whether the caller's budget was lowered, because it must be below the cap. */
  readonly isLowered?: boolean;
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

/** Plans thinking: off, a budget, or an effort; never two that contradict each other. */
export function planThinking(reasoning: Reasoning | undefined, conditions: ThinkingConditions): ThinkingPlan {
  if (reasoning === undefined) return none;
  const { traits } = conditions;
  if (reasoning.disabled || reasoning.effort === 'none') return traits.thinksByDefault ? { ...none, thinking: { type: 'disabled' } } : none;
  if (reasoning.effort === '' && reasoning.budgetTokens === undefined) return none;
  if (traits.thinking === 'never') return { ...none, isDropped: true };
  if (reasoning.budgetTokens !== undefined && traits.takesBudget) return withBudget(reasoning.budgetTokens, reasoning, conditions);
  return traits.thinking === 'budget' ? fromEffort(reasoning.effort, conditions) : withEffort(reasoning, conditions);
}

/** Plans thinking with the caller's budget, which takes precedence over a forced tool. */
function withBudget(tokens: number, { effort }: Reasoning, { maxTokens, traits, forcesTool, isMidTurn }: ThinkingConditions): ThinkingPlan {
  const effortField = traits.thinking === 'budget' || effort === '' ? {} : { effort: effortFor(effort, traits) };
  const budget = Math.min(tokens, maxTokens - 1);
  if (budget < thinkingBudgetMin || isMidTurn) return { ...none, ...effortField, isDropped: true };
  return {
    ...none,
    ...effortField,
    thinking: { type: 'enabled', budget_tokens: budget },
    freesTool: forcesTool,
    isLowered: budget < tokens,
  };
}

/** Plans a budget in place of an effort, for older models. It leaves at least half of the cap for the answer. */
function fromEffort(effort: string, { maxTokens, forcesTool, isMidTurn }: ThinkingConditions): ThinkingPlan {
  // Minimal reasoning is less than the smallest budget.
  if (effort === 'minimal') return none;
  const budget = Math.min(budgets[effort] ?? 0, Math.floor(maxTokens / 2));
  if (budget < thinkingBudgetMin || forcesTool || isMidTurn) return { ...none, isDropped: true };
  return { ...none, thinking: { type: 'enabled', budget_tokens: budget } };
}

function withEffort(reasoning: Reasoning, { maxTokens, traits, forcesTool }: ThinkingConditions): ThinkingPlan {
  const effort = effortFor(reasoning.effort || effortOf(reasoning.budgetTokens ?? 0), traits);
  // A forced tool excludes thinking, but the effort still applies to the answer.
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
