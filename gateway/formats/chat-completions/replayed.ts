// Cleans answers that are replayed as history: removes fields that only answers have and fields that libraries add. Pure.
import { isObject, type JsonObject } from '../rest.js';

/**
 * The openai libraries add what they have parsed to the message (`parsed`, `parsed_arguments`), and the one for Python adds the position in the
 * list (`index`); all of them write null for absent fields. Vendors reject these in a request, and they have no meaning there.
 */
const messageLeftovers = ['parsed', 'annotations'];
/** The Agents SDK for JavaScript copies the other fields of the message into the part with its text or refusal. */
const partLeftovers = [
  ...messageLeftovers,
  'role',
  'content',
  'audio',
  'function_call',
  'tool_calls',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'thinking_blocks',
];
const callLeftovers = ['index'];
const functionLeftovers = ['parsed_arguments'];
const refusedAsNull = ['audio', 'function_call', 'tool_calls', 'name', 'refusal'];

/** Returns the messages of a body in the form that vendors accept; those that need no change are the same objects, and so is the list if none does. */
export function withoutLeftovers<T extends object>(messages: readonly T[]): readonly T[] {
  const cleaned = messages.map((message) =>
    'role' in message && message.role === 'assistant' ? (cleanMessage(message as JsonObject) as T) : message,
  );
  return cleaned.every((message, index) => message === messages[index]) ? messages : cleaned;
}

function cleanMessage(message: JsonObject): JsonObject {
  const cleaned = without(
    message,
    (name, value) => messageLeftovers.includes(name) || (value === null && refusedAsNull.includes(name)) || isNoCall(name, value),
  );
  return withEach(withEach(cleaned, 'content', cleanPart), 'tool_calls', cleanCall);
}

/** Cleans each element of a list. Returns the same message if there is no list, or if no element needs a change. */
function withEach(message: JsonObject, field: string, clean: (element: unknown) => unknown): JsonObject {
  const list = message[field];
  if (!Array.isArray(list)) return message;
  const cleaned: unknown[] = list.map(clean);
  return cleaned.every((element, index) => element === list[index]) ? message : { ...message, [field]: cleaned };
}

function cleanPart(part: unknown): unknown {
  if (!isObject(part) || (part['type'] !== 'text' && part['type'] !== 'refusal')) return part;
  return without(part, (name) => partLeftovers.includes(name) || (name === 'refusal' && part['type'] === 'text'));
}

/** Reports whether a field is an empty list of tool calls, which some libraries write and the vendor rejects: "[] is too short". */
function isNoCall(name: string, value: unknown): boolean {
  return name === 'tool_calls' && Array.isArray(value) && value.length === 0;
}

function cleanCall(call: unknown): unknown {
  if (!isObject(call)) return call;
  const cleaned = without(call, (name) => callLeftovers.includes(name));
  const fn = cleaned['function'];
  if (!isObject(fn)) return cleaned;
  const cleanFunction = without(fn, (name) => functionLeftovers.includes(name));
  return cleanFunction === fn ? cleaned : { ...cleaned, function: cleanFunction };
}

function without(value: JsonObject, isLeftover: (name: string, value: unknown) => boolean): JsonObject {
  const entries = Object.entries(value);
  return entries.some(([name, field]) => isLeftover(name, field))
    ? Object.fromEntries(entries.filter(([name, field]) => !isLeftover(name, field)))
    : value;
}
