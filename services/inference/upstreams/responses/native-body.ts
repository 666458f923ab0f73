// Builds the body for a caller of the same format: our fields, spliced before the caller's own. Pure.
import { isOwnEncryptedContent } from '#rules/wire/reasoning-seals.js';
import type { ChatCompletionsFlavour } from '../chat-completions/flavour.js';
import type { UpstreamBody } from '../http/wire.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

/** Returns the body of `ours` and the caller's fields. A large body is parsed again only if its text shows that an item must be changed. */
export function nativeBody(ours: JsonObject, fieldsJson: string, { isOpenAi }: ChatCompletionsFlavour): UpstreamBody {
  const isChanged = hasUnreadableReasoning(fieldsJson) || (!isOpenAi && fieldsJson.includes('"developer"'));
  const rest = isChanged ? withReadableItems(fieldsJson, isOpenAi) : fieldsJson;
  const head = JSON.stringify(ours);
  return { json: rest.length <= 2 ? head : `${head.slice(0, -1)},${rest.slice(1)}`, dropped: [] };
}

// Quotes inside texts are escaped, so these can only be fields of objects.
const reasoningItem = /"type"\s*:\s*"reasoning"/g;
const encrypted = /"encrypted_content"\s*:\s*"(?!"|tgreason\.)/g;

/** Reports whether reasoning in the history may be without encrypted content, or with that of another format. */
function hasUnreadableReasoning(fieldsJson: string): boolean {
  const items = fieldsJson.match(reasoningItem)?.length ?? 0;
  return items > 0 && (fieldsJson.match(encrypted)?.length ?? 0) !== items;
}

/**
 * Leaves out reasoning that the upstream cannot read: that of other formats, and for OpenAI, which stores nothing for us, that without its encrypted
 * content. Replaces the role "developer" with "system" for other servers, few of which know it.
 */
function withReadableItems(fieldsJson: string, isOpenAi: boolean): string {
  const fields = JSON.parse(fieldsJson) as JsonObject;
  const { input } = fields;
  if (!Array.isArray(input)) return fieldsJson;
  const items = input.flatMap((item) => {
    if (!isObject(item)) return [item];
    if (item['type'] === 'reasoning') return isReadable(item['encrypted_content'], isOpenAi) ? [item] : [];
    return [!isOpenAi && item['role'] === 'developer' ? { ...item, role: 'system' } : item];
  });
  return JSON.stringify({ ...fields, input: items });
}

function isReadable(encryptedContent: unknown, isOpenAi: boolean): boolean {
  if (typeof encryptedContent !== 'string' || encryptedContent === '') return !isOpenAi;
  return !isOwnEncryptedContent(encryptedContent);
}
