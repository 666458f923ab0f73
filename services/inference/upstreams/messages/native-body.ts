// The body for a caller who speaks this format too: what is ours, spliced before the caller's own fields. Pure.
import { isObject, type JsonObject } from '../stream-decoder.js';
import { thinkingBudgetMin } from './reasoning.js';

/** The JSON of `ours` and the caller's fields, which are as JSON.stringify writes them. A large body is not parsed again, unless something in it must go. */
export function nativeBody(ours: JsonObject, fieldsJson: string): string {
  const rest = withSignedThinkingOnly(fieldsJson);
  const head = JSON.stringify(ours);
  return rest.length <= 2 ? head : `${head.slice(0, -1)},${rest.slice(1)}`;
}

/**
 * The caller's fields with a thinking budget below our cap, which may be lower than the caller's own: the vendor refuses another. Where the
 * cap leaves no room for the least budget, thinking is left out, and with it what clears thoughts, which goes with no other.
 */
export function withBudgetBelow(maxTokens: number, fieldsJson: string): { fieldsJson: string; dropped: string[] } {
  const fields = JSON.parse(fieldsJson) as JsonObject;
  const { thinking, context_management: management, ...rest } = fields;
  // A cap of 0 writes to the cache and is below every budget, also that of a call that asks for no thinking.
  if (thinking === undefined) return { fieldsJson, dropped: [] };
  if (maxTokens > thinkingBudgetMin)
    return {
      fieldsJson: JSON.stringify({ ...fields, thinking: { ...(thinking as JsonObject), budget_tokens: maxTokens - 1 } }),
      dropped: [],
    };
  if (management === undefined) return { fieldsJson: JSON.stringify(rest), dropped: ['thinking'] };
  return { fieldsJson: JSON.stringify(rest), dropped: ['thinking', 'context_management'] };
}

/** Thinking without a signature is another vendor's, and is refused; a message of nothing else goes with it. */
function withSignedThinkingOnly(fieldsJson: string): string {
  // Quotes inside of texts are escaped, so that these words can only be a field of an object.
  if (!fieldsJson.includes('"signature":""')) return fieldsJson;
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
