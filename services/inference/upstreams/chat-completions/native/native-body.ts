// Builds the body for a caller of the same format: our fields, spliced before the caller's own. Pure.
import { isObject, type JsonObject, listOf } from '../../answers/stream-decoder.js';
import type { UpstreamBody } from '../../http/wire.js';
import { type ChatCompletionsFlavour, takesExtensions } from '../flavour.js';
import { mayHaveCustomTools, withFunctions } from './native-custom-tools.js';
import { withToolIds } from './native-tool-ids.js';

/**
 * Returns the body of `ours` and the caller's fields. A large body is parsed again only if its text shows that something in it
 * would be rejected by this server; that is then changed or left out. `fieldsJson` has no spaces around the names of its own fields.
 */
export function nativeBody(ours: JsonObject, fieldsJson: string, flavour: ChatCompletionsFlavour): UpstreamBody {
  const { json: known, dropped } = takesExtensions(flavour) ? { json: fieldsJson, dropped: [] } : withoutExtensions(fieldsJson);
  const json = withToolIds(flavour.isOpenAi ? known : forOthers(known, flavour), flavour);
  const head = JSON.stringify(ours);
  return { json: json.length <= 2 ? head : `${head.slice(0, -1)},${json.slice(1)}`, dropped };
}

/** Replaces what few servers other than OpenAI's know: the role "developer" with "system", and custom tools with functions unless the operator allows them. */
function forOthers(fieldsJson: string, { takesCustomTools }: ChatCompletionsFlavour): string {
  const hasCustomTools = takesCustomTools !== true && mayHaveCustomTools(fieldsJson);
  if (!hasCustomTools && !fieldsJson.includes('"developer"')) return fieldsJson;
  const given = JSON.parse(fieldsJson) as JsonObject;
  const fields = hasCustomTools ? withFunctions(given) : given;
  const messages = listOf(fields['messages']).map((message) =>
    isObject(message) && message['role'] === 'developer' ? { ...message, role: 'system' } : message,
  );
  return JSON.stringify({ ...fields, messages });
}

// Extensions to the history by us and by other vendors, which strict servers do not know and reject.
const messageExtensions = ['thinking_blocks', 'reasoning_content', 'reasoning', 'reasoning_details', 'cache_control'] as const;

function withoutExtensions(fieldsJson: string): { json: string; dropped: readonly string[] } {
  const hasExtension = messageExtensions.some((name) => fieldsJson.includes(`"${name}"`));
  // OpenAI rejects this field when there are no tools, although it has no effect then.
  const hasIdleChoice = fieldsJson.includes('"parallel_tool_calls":') && !fieldsJson.includes('"tools":');
  if (!hasExtension && !hasIdleChoice) return { json: fieldsJson, dropped: [] };
  const dropped = new Set<string>();
  const { parallel_tool_calls: parallel, cache_control: mark, ...fields } = JSON.parse(fieldsJson) as JsonObject;
  if (mark !== undefined) dropped.add('cache_control');
  const kept = {
    ...fields,
    ...(parallel === undefined || fields['tools'] === undefined ? {} : { parallel_tool_calls: parallel }),
    ...(Array.isArray(fields['messages']) ? { messages: fields['messages'].map((message) => cleanMessage(message, dropped)) } : {}),
    ...(Array.isArray(fields['tools']) ? { tools: fields['tools'].map((tool) => cleanTool(tool, dropped)) } : {}),
  };
  return { json: JSON.stringify(kept), dropped: [...dropped] };
}

function cleanMessage(message: unknown, dropped: Set<string>): unknown {
  if (!isObject(message)) return message;
  const cleaned = without(message, messageExtensions, dropped);
  const content = cleaned['content'];
  return Array.isArray(content) ? { ...cleaned, content: content.map((part) => without(part, ['cache_control'], dropped)) } : cleaned;
}

function cleanTool(tool: unknown, dropped: Set<string>): unknown {
  const cleaned = without(tool, ['cache_control'], dropped);
  return isObject(cleaned) && isObject(cleaned['function'])
    ? { ...cleaned, function: without(cleaned['function'], ['cache_control'], dropped) }
    : cleaned;
}

/** Returns the value without these fields, and adds their names to `dropped`. */
function without<T>(value: T, names: readonly string[], dropped: Set<string>): T {
  if (!isObject(value) || !names.some((name) => name in value)) return value;
  for (const name of names) if (value[name] !== undefined) dropped.add(name);
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as T;
}
