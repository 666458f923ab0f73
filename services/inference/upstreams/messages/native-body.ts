// Builds the body for a caller of the same format: our fields, spliced before the caller's own. Pure.
import { isObject, type JsonObject } from '../answers/stream-decoder.js';
import { budgetField, thinkingBudgetMin } from './reasoning.js';

/** Returns the JSON of `ours` and the caller's fields. A large body is parsed again only if something in it must be removed. */
export function nativeBody(ours: JsonObject, fieldsJson: string): string {
  const rest = withSignedThinkingOnly(fieldsJson);
  const head = JSON.stringify(ours);
  return rest.length <= 2 ? head : `${head.slice(0, -1)},${rest.slice(1)}`;
}

/**
 * Returns the caller's fields with a thinking budget below our cap, which may be lower than the caller's own: the vendor rejects any other budget. If the
 * cap leaves no room for the smallest budget, thinking is left out, and with it the edit that clears thoughts, which is only allowed with thinking.
 */
export function withBudgetBelow(maxTokens: number, fieldsJson: string): { fieldsJson: string; dropped: string[] } {
  const fields = JSON.parse(fieldsJson) as JsonObject;
  const { thinking, context_management: management, ...rest } = fields;
  // A cap of 0 writes to the cache and is below every budget, including that of a call without thinking.
  if (thinking === undefined) return { fieldsJson, dropped: [] };
  if (maxTokens > thinkingBudgetMin)
    return {
      fieldsJson: JSON.stringify({ ...fields, thinking: { ...(thinking as JsonObject), budget_tokens: maxTokens - 1 } }),
      dropped: [budgetField],
    };
  if (management === undefined) return { fieldsJson: JSON.stringify(rest), dropped: ['thinking'] };
  return { fieldsJson: JSON.stringify(rest), dropped: ['thinking', 'context_management'] };
}

/** Returns the caller's fields with no search tool that may be used more often than money is held for. */
export function withSearchesAtMost(searches: number, fieldsJson: string): string {
  const fields = JSON.parse(fieldsJson) as JsonObject;
  const tools: readonly unknown[] = Array.isArray(fields['tools']) ? fields['tools'] : [];
  const limited = tools.map((tool) => {
    if (!isObject(tool) || !isWebSearch(String(tool['type']))) return tool;
    const wanted = tool['max_uses'];
    return { ...tool, max_uses: typeof wanted === 'number' ? Math.min(wanted, searches) : searches };
  });
  return JSON.stringify({ ...fields, tools: limited });
}

/** Reports whether the vendor's web search has this type in some version. */
function isWebSearch(type: string): boolean {
  return /^web_search_\d{8}$/.test(type);
}

/** Removes thinking without a signature, which comes from another vendor and would be rejected; a message of nothing else is removed with it. */
function withSignedThinkingOnly(fieldsJson: string): string {
  // Quotes inside texts are escaped, so this text can only be a field of an object.
  if (!fieldsJson.includes('"signature"') || !/"signature"\s*:\s*""/.test(fieldsJson)) return fieldsJson;
  const fields = JSON.parse(fieldsJson) as JsonObject;
  const messages: readonly unknown[] = Array.isArray(fields['messages']) ? fields['messages'] : [];
  return JSON.stringify({ ...fields, messages: messages.flatMap(withoutUnsigned) });
}

function withoutUnsigned(message: unknown): unknown[] {
  if (!isObject(message) || !Array.isArray(message['content'])) return [message];
  const content: readonly unknown[] = message['content'];
  const kept = content.filter((block) => !isObject(block) || block['type'] !== 'thinking' || block['signature'] !== '');
  if (kept.length === content.length) return [message];
  return kept.length === 0 ? [] : [{ ...message, content: kept }];
}
