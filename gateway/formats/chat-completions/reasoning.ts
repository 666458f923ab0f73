// The reasoning effort of a chat-completions request, and the reasoning of earlier answers that it replays.
import type { Part, Reasoning } from '#proto/inference/v1/inference.js';
import type { Demands } from '../requests/required-capabilities.js';
import { translateEffort } from '../requests/openai-fields.js';
import { reasoningPart } from '../parts.js';
import type { MessageOf } from './message-schema.js';
import type { ChatCompletionRequest } from './schema.js';

const tokensMax = 0xffff_ffff;

/** Translates `reasoning_effort` or, if it is absent, what other gateways and vendors call `reasoning` or `thinking`. */
export function translateReasoning(body: ChatCompletionRequest, demands: Demands): Reasoning | undefined {
  const { reasoning_effort: effort, reasoning, thinking } = body;
  const sources = [
    { field: 'reasoning_effort', value: effort, read: (): Reasoning | undefined => translateEffort(effort, 'reasoning_effort', demands) },
    { field: 'reasoning', value: reasoning, read: (): Reasoning | undefined => fromReasoning(reasoning, demands) },
    { field: 'thinking', value: thinking, read: (): Reasoning | undefined => fromThinking(thinking, demands) },
  ].filter(({ value }) => value !== null && value !== undefined);
  for (const { field } of sources.slice(1)) demands.droppedElsewhere.add(field);
  return sources[0]?.read();
}

function fromReasoning(value: unknown, demands: Demands): Reasoning | undefined {
  if (typeof value !== 'object') demands.droppedElsewhere.add('reasoning');
  const { effort, max_tokens: budget, enabled, ...rest } = objectOf(value);
  for (const name of Object.keys(rest)) demands.droppedElsewhere.add(`reasoning.${name}`);
  if (effort !== null && effort !== undefined) return translateEffort(effort, 'reasoning.effort', demands);
  if (isTokens(budget)) return { effort: '', budgetTokens: budget, disabled: false };
  return typeof enabled === 'boolean' ? { effort: '', budgetTokens: undefined, disabled: !enabled } : undefined;
}

function fromThinking(value: unknown, demands: Demands): Reasoning | undefined {
  const { type, budget_tokens: budget, ...rest } = objectOf(value);
  for (const name of Object.keys(rest)) demands.droppedElsewhere.add(`thinking.${name}`);
  switch (type) {
    case 'enabled':
    case 'adaptive':
    case 'auto':
      return { effort: '', budgetTokens: isTokens(budget) ? budget : undefined, disabled: false };
    case 'disabled':
      return { effort: '', budgetTokens: undefined, disabled: true };
    default:
      demands.refuseElsewhere('thinking.type', 'must be one of enabled, adaptive, disabled; or use reasoning_effort');
      return undefined;
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function isTokens(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= tokensMax;
}

/** The fields that replay reasoning, the most complete first: they repeat each other. */
export const reasoningFields = ['thinking_blocks', 'reasoning_details', 'reasoning_content', 'reasoning'] as const;

/** Returns the reasoning of an earlier answer. The content of the other fields is only counted. */
export function replayedReasoning(message: MessageOf<'assistant'>, demands: Demands): Part[] {
  const found = reasoningFields.map((field) => ({ field, parts: readers[field](message) })).find(({ parts }) => parts.length > 0);
  for (const field of reasoningFields) {
    const value = message[field];
    // The details may hold reasoning that another vendor sealed.
    const isCounted = field === found?.field && field !== 'reasoning_details';
    if (!isCounted && value !== null && value !== undefined) demands.addForeign(value);
  }
  // Upstreams of this format also receive what has no common form.
  if (found?.field === 'thinking_blocks')
    for (const { thinking: _thinking, signature: _signature, data: _data, type, ...rest } of message.thinking_blocks ?? [])
      if (!blockTypes.has(type) || Object.keys(rest).length > 0) demands.addForeign({ type, ...rest });
  return found?.parts ?? [];
}

const blockTypes: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking']);

type ReasoningReader = (message: MessageOf<'assistant'>) => Part[];

const readers: Record<(typeof reasoningFields)[number], ReasoningReader> = {
  thinking_blocks: ({ thinking_blocks: blocks }) =>
    (blocks ?? []).map(({ thinking, signature, data }) => reasoningPart(thinking ?? '', signature ?? '', data ?? '')).filter(hasContent),
  reasoning_details: ({ reasoning_details: details }) =>
    (details ?? [])
      .map(({ text, summary, signature, data, format }) =>
        // Sealed reasoning is useful only to the vendor that sealed it; the common form is that of the messages format.
        reasoningPart(text ?? summary ?? '', signature ?? '', format?.startsWith('anthropic') === true ? (data ?? '') : ''),
      )
      .filter(hasContent),
  reasoning_content: ({ reasoning_content: text }) => plainReasoning(text),
  reasoning: ({ reasoning: text }) => plainReasoning(text),
};

function plainReasoning(text: string | null | undefined): Part[] {
  return text === null || text === undefined || text === '' ? [] : [reasoningPart(text, '', '')];
}

function hasContent({ part }: Part): boolean {
  return part?.$case === 'reasoning' && (part.value.text !== '' || part.value.signature !== '' || part.value.redactedData !== '');
}
