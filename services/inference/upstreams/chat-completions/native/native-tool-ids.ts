// Changes the ids of tool calls in the body of a caller of this format to ids that the server accepts. Pure.
import { isObject, type JsonObject } from '../../answers/stream-decoder.js';
import type { ChatCompletionsFlavour } from '../flavour.js';
import { toServerToolId } from '../tools/tool-names.js';

// Quotes inside texts are escaped, so this can only be a field of an object. Every call in a history has a result, which names it.
const foreignToMistral = /"tool_call_id"\s*:\s*"(?![A-Za-z0-9]{9}")/;
const tooLongForOpenAi = /"tool_call_id"\s*:\s*"[^"]{41}/;

/** Returns the fields with other ids where the server would reject the caller's; a body without such ids is not parsed. */
export function withToolIds(fieldsJson: string, flavour: ChatCompletionsFlavour): string {
  const rejected = flavour.isMistral === true ? foreignToMistral : flavour.isOpenAi ? tooLongForOpenAi : undefined;
  if (rejected?.test(fieldsJson) !== true) return fieldsJson;
  const fields = JSON.parse(fieldsJson) as JsonObject;
  if (!Array.isArray(fields['messages'])) return fieldsJson;
  return JSON.stringify({ ...fields, messages: fields['messages'].map((message) => messageWith(message, flavour)) });
}

function messageWith(message: unknown, flavour: ChatCompletionsFlavour): unknown {
  if (!isObject(message)) return message;
  const { tool_calls: calls, tool_call_id: answered } = message;
  return {
    ...message,
    ...(typeof answered === 'string' ? { tool_call_id: toServerToolId(answered, flavour) } : {}),
    ...(Array.isArray(calls) ? { tool_calls: calls.map((call) => callWith(call, flavour)) } : {}),
  };
}

function callWith(call: unknown, flavour: ChatCompletionsFlavour): unknown {
  return isObject(call) && typeof call['id'] === 'string' ? { ...call, id: toServerToolId(call['id'], flavour) } : call;
}
