// The caller's own messages body, for upstreams of this format.
import { type NativeRequest, ApiFormat } from '#proto/inference/v1/inference.js';
import type { Demands } from '../required-capabilities.js';
import { fieldsWithout } from '../native-fields.js';
import { mendHistory } from './history.js';
import type { CountTokensRequest } from './schema.js';

/** What is ours to say, by this format's names or another's; ids of people and accounts among it. */
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

/** The body without what is ours and without these fields, and with all that was gathered while reading it. */
export function nativeMessages(
  body: CountTokensRequest,
  without: readonly string[],
  messagesBetas: string[],
  demands: Demands,
): NativeRequest {
  return {
    format: ApiFormat.API_FORMAT_MESSAGES,
    fieldsJson: fieldsWithout({ ...body, messages: mendHistory(body.messages) }, [...oursToSay, ...without, ...emptyFields(body)]),
    messagesBetas,
    droppedElsewhere: demands.droppedElsewhere.names,
    refusedElsewhere: demands.refusedElsewhere,
  };
}

/** Fields that say nothing, and that vendors refuse all the same. */
function emptyFields({ system, tools, tool_choice: choice }: CountTokensRequest): string[] {
  const hasTools = tools !== null && tools !== undefined && tools.length > 0;
  return [
    ...(system?.length === 0 ? ['system'] : []),
    ...(hasTools ? [] : ['tools']),
    ...(hasTools || choice === undefined ? [] : ['tool_choice']),
  ];
}
