// The caller's own responses body, for upstreams of this format.
import { ApiFormat, type NativeRequest } from '#proto/inference/v1/inference.js';
import { isOwnEncryptedContent } from '#rules/wire/reasoning-seals.js';
import { ignoredKeyword } from '../requests/fields.js';
import { fieldsWithout, isKnownInOtherCase, onlyFields, type Original } from '../requests/native-fields.js';
import { cacheKeyOf, toolFields } from '../requests/openai-fields.js';
import type { Demands } from '../requests/required-capabilities.js';
import type { ContentPart, InputItem } from './item-schema.js';
import { ResponseRequest } from './schema.js';
import type { ToolParam } from './tool-schema.js';
import { hasTools, isUnasked } from './tools.js';

/** Fields that inference always sets itself, including ids of end users. */
const oursToSay = [
  'model',
  'stream',
  'stream_options',
  'max_output_tokens',
  'store',
  'previous_response_id',
  'background',
  'user',
  'safety_identifier',
];

const properties: Record<string, object> = ResponseRequest.properties;

/** Returns the body without the fields that we set or that have no effect on any route, and with everything that was collected while reading it. */
export function nativeResponses(
  body: ResponseRequest,
  demands: Demands,
  { accountId, originator }: { readonly accountId: string; readonly originator: string },
  original: Original,
): NativeRequest {
  const fields = { ...body, input: mended(body.input, originator) };
  if (typeof body.prompt_cache_key === 'string') fields.prompt_cache_key = cacheKeyOf(body.prompt_cache_key, accountId);
  if (body.tools?.some((tool) => isUnasked(tool, originator)) === true) fields.tools = withoutUnasked(body.tools, originator);
  return {
    format: ApiFormat.API_FORMAT_RESPONSES,
    fieldsJson: fieldsWithout(
      fields,
      Object.keys(body).filter((name) => !passesOn(name, fields)),
      original,
    ),
    otherFieldsJson: onlyFields(
      body,
      Object.keys(body).filter((name) => !Object.hasOwn(properties, name) && !isKnownInOtherCase(name, properties)),
      original,
    ),
    messagesBetas: [],
    droppedElsewhere: demands.droppedElsewhere.names,
    refusedElsewhere: demands.refusedElsewhere,
    vendorTools: demands.vendorTools,
    foreignTokens: demands.foreignTokens,
  };
}

/**
 * Removes what vendors reject: reasoning of upstreams of other formats, and what the official library adds to the answers that its users send
 * back. Items that need no change stay the same objects.
 */
function mended(input: ResponseRequest['input'], originator: string): ResponseRequest['input'] {
  const hasUnasked = (item: InputItem) => item.type === 'additional_tools' && item.tools.some((tool) => isUnasked(tool, originator));
  if (typeof input === 'string' || !input.some((item) => isOwnReasoning(item) || hasLeftovers(item) || hasUnasked(item))) return input;
  return input
    .filter((item) => !isOwnReasoning(item))
    .map((item) => {
      if (item.type === 'additional_tools') return { ...item, tools: withoutUnasked(item.tools, originator) };
      return hasLeftovers(item) ? withoutLeftovers(item) : item;
    });
}

function withoutUnasked(tools: readonly ToolParam[], originator: string): ToolParam[] {
  return tools.filter((tool) => !isUnasked(tool, originator));
}

function hasLeftovers(item: InputItem): boolean {
  return 'parsed_arguments' in item || partsOf(item).some((part) => 'parsed' in part);
}

function withoutLeftovers(item: InputItem): InputItem {
  const { parsed_arguments: _arguments, ...kept } = item as InputItem & { parsed_arguments?: unknown };
  const parts: readonly Record<string, unknown>[] = partsOf(item);
  return (parts.length === 0 ? kept : { ...kept, content: parts.map(({ parsed: _parsed, ...part }) => part) }) as InputItem;
}

/** Returns the parts of a message; none for other items, whose `content` may be anything. */
function partsOf(item: InputItem): readonly ContentPart[] {
  const isMessage = item.type === undefined || item.type === null || item.type === 'message';
  return isMessage && typeof item.content !== 'string' ? item.content : [];
}

function isOwnReasoning(item: InputItem): boolean {
  return item.type === 'reasoning' && typeof item.encrypted_content === 'string' && isOwnEncryptedContent(item.encrypted_content);
}

function passesOn(name: string, body: ResponseRequest): boolean {
  if (!Object.hasOwn(properties, name)) return false;
  if (oursToSay.includes(name) || ignoredKeyword in properties[name]!) return false;
  if (name === 'tools' && body.tools?.length === 0) return false;
  if (toolFields.includes(name) && !hasTools(body)) return false;
  // Vendors differ on whether null is the same as absent.
  return body[name as keyof ResponseRequest] !== null;
}
