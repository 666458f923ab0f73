// Cleans answers that are replayed as history: removes fields that only answers have and fields that libraries add. Pure.
import { isObject, type JsonObject } from '../rest.js';

/**
 * The openai libraries add what they have parsed to the message (`parsed`, `parsed_arguments`), and the one for Python adds the position in the
 * list (`index`); all of them write null for absent fields. Vendors reject these in a request, and they have no meaning there.
 */
const messageLeftovers = ['parsed', 'annotations'];
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
  const calls: unknown = cleaned['tool_calls'];
  if (!Array.isArray(calls)) return cleaned;
  const cleanCalls = calls.map(cleanCall);
  return cleanCalls.every((call, index) => call === calls[index]) ? cleaned : { ...cleaned, tool_calls: cleanCalls };
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
