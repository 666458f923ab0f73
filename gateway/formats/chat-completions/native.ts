// The caller's own chat-completions body, for upstreams of this format.
import { type NativeRequest, ApiFormat } from '#proto/inference/v1/inference.js';
import type { Demands } from '../requests/required-capabilities.js';
import { ignoredKeyword } from '../requests/fields.js';
import { fieldsWithout, isKnownInOtherCase, onlyFields, type Original } from '../requests/native-fields.js';
import { cacheKeyOf, toolFields } from '../requests/openai-fields.js';
import { withoutLeftovers } from './replayed.js';
import { ChatCompletionRequest } from './schema.js';
import type { FunctionToolParam } from './tool-schema.js';

/** Fields that we always set ourselves, including ids of end users. */
const oursToSay = ['model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'user', 'safety_identifier'];

const properties: Record<string, object> = ChatCompletionRequest.properties;

/** Returns the body without the fields that we set or that have no effect on any route, and with everything that was collected while reading it. */
export function nativeChatCompletions(body: ChatCompletionRequest, demands: Demands, accountId: string, original: Original): NativeRequest {
  const fields = { ...body, messages: withoutLeftovers(body.messages) };
  if (typeof body.prompt_cache_key === 'string') fields.prompt_cache_key = cacheKeyOf(body.prompt_cache_key, accountId);
  if (body.tools?.some(hasNull) === true) fields.tools = body.tools.map((tool) => (hasNull(tool) ? withoutNulls(tool) : tool));
  const others = Object.keys(body).filter((name) => dependsOnServer(name, body));
  return {
    format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
    fieldsJson: fieldsWithout(
      fields,
      Object.keys(body).filter((name) => !passesOn(name, body)),
      original,
    ),
    otherFieldsJson: onlyFields(body, others, original),
    messagesBetas: [],
    droppedElsewhere: demands.droppedElsewhere.names,
    refusedElsewhere: demands.refusedElsewhere,
    vendorTools: demands.vendorTools,
    foreignTokens: demands.foreignTokens,
  };
}

type Tool = NonNullable<ChatCompletionRequest['tools']>[number];

/** Libraries write these fields of a function as null when they are unset, which vendors reject. */
const optionalOfFunctions = ['description', 'parameters', 'strict'];

function hasNull(tool: Tool): tool is FunctionToolParam {
  return tool.type === 'function' && Object.entries(tool.function).some(isUnset);
}

function withoutNulls(tool: FunctionToolParam): FunctionToolParam {
  const fields = Object.entries(tool.function).filter((field) => !isUnset(field));
  return { ...tool, function: Object.fromEntries(fields) as FunctionToolParam['function'] };
}

function isUnset([name, value]: [string, unknown]): boolean {
  return value === null && optionalOfFunctions.includes(name);
}

/** Fields of our schema that only some servers publish, with parts that cost more than tokens. */
const ofSomeServers = new Set(['reasoning', 'thinking']);

/** Reports whether the upstream decides about a field: the vendor of this format does not publish it. */
function dependsOnServer(name: string, body: ChatCompletionRequest): boolean {
  if (!Object.hasOwn(properties, name)) return !isKnownInOtherCase(name, properties);
  return ofSomeServers.has(name) && body[name as keyof ChatCompletionRequest] !== null;
}

function passesOn(name: string, body: ChatCompletionRequest): boolean {
  if (!Object.hasOwn(properties, name) || ofSomeServers.has(name)) return false;
  if (oursToSay.includes(name) || ignoredKeyword in properties[name]!) return false;
  if (toolFields.includes(name) && (body.tools ?? []).length === 0) return false;
  if (name === 'stop' && Array.isArray(body.stop) && body.stop.length === 0) return false;
  // Vendors differ on whether null is the same as absent.
  return body[name as keyof ChatCompletionRequest] !== null;
}
