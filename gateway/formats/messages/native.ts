// The caller's own messages body, for upstreams of this format.
import { type NativeRequest, ApiFormat } from '#proto/inference/v1/inference.js';
import type { Demands } from '../requests/required-capabilities.js';
import { fieldsWithout, onlyFields, type Original } from '../requests/native-fields.js';
import { mendHistory } from './history.js';
import type { CountTokensRequest } from './schema.js';

/** Fields that we always set ourselves, by this format's names or another's, including ids of end users and accounts. */
export const oursToSay = [
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'metadata',
  'user',
  'safety_identifier',
];

/** Returns the body without the fields that we set and without these fields, with `others` apart, and with everything that was collected while reading it. */
export function nativeMessages(
  body: CountTokensRequest,
  without: readonly string[],
  others: readonly string[],
  messagesBetas: string[],
  demands: Demands,
  original: Original,
): NativeRequest {
  return {
    format: ApiFormat.API_FORMAT_MESSAGES,
    fieldsJson: fieldsWithout(
      { ...body, messages: mendHistory(body.messages) },
      [...oursToSay, ...without, ...others, ...emptyFields(body)],
      original,
    ),
    otherFieldsJson: onlyFields(body, others, original),
    messagesBetas,
    droppedElsewhere: demands.droppedElsewhere.names,
    refusedElsewhere: demands.refusedElsewhere,
    vendorTools: demands.vendorTools,
    foreignTokens: demands.foreignTokens,
  };
}

/** Returns fields that are empty, which vendors reject although they have no effect. */
function emptyFields({ system, tools, tool_choice: choice }: CountTokensRequest): string[] {
  const hasTools = tools !== null && tools !== undefined && tools.length > 0;
  return [
    ...(system?.length === 0 ? ['system'] : []),
    ...(hasTools ? [] : ['tools']),
    ...(hasTools || choice === undefined ? [] : ['tool_choice']),
  ];
}
