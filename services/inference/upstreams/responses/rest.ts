// The rest of a responses answer: what its upstream sends alongside the meaning, for callers of the same format (README of gateway/formats). Pure.
import { restOf, withoutAccount } from '../answers/rest.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

// The gateway itself writes the fields that echo the request.
const inResponse = words(
  'id object created_at completed_at status model output output_text usage error incomplete_details instructions max_output_tokens ' +
    'max_tool_calls metadata parallel_tool_calls temperature top_p tool_choice tools background conversation previous_response_id prompt ' +
    'prompt_cache_key prompt_cache_retention reasoning safety_identifier store text top_logprobs truncation user include stream ' +
    'frequency_penalty presence_penalty',
);
const inUsage = words('input_tokens output_tokens total_tokens input_tokens_details output_tokens_details');
const inInputDetails = words('cached_tokens cache_write_tokens');
const inOutputDetails = words('reasoning_tokens');
const inItem = words('type role status content summary call_id name arguments input');
const inPart = words('type text refusal');
const inDelta = words('type sequence_number output_index content_index summary_index item_id delta obfuscation');

const inPlainDelta: ReadonlySet<string> = new Set([...inDelta, 'logprobs']);

/** Returns the rest of a response, alongside its usage and its end. */
export function responseRest(response: JsonObject): JsonObject | undefined {
  return withoutAccount(present(restOf(response, inResponse)));
}

/** Returns the rest of the usage. */
export function usageRest(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined;
  const input = detailsRest(usage['input_tokens_details'], inInputDetails);
  const output = detailsRest(usage['output_tokens_details'], inOutputDetails);
  const rest = withoutAccount(restOf(usage, inUsage));
  if (rest === undefined && input === undefined && output === undefined) return undefined;
  return {
    ...rest,
    ...(input === undefined ? {} : { input_tokens_details: input }),
    ...(output === undefined ? {} : { output_tokens_details: output }),
  };
}

/** Returns the extra_json of the start or the end of a block. */
export function blockRest(item: JsonObject | undefined, part: JsonObject | undefined): string {
  return JSON.stringify({ item: item && restOf(item, inItem), part: part && restOf(part, inPart) });
}

/** Returns the extra_json of a delta, with the place of a piece of reasoning; undefined if there is none. */
export function deltaRest(event: JsonObject, place: JsonObject | undefined): string | undefined {
  const { logprobs } = event;
  // OpenAI sends an empty list with every text, which the gateway writes by itself; a rest would have to be parsed and merged for every event.
  const rest = restOf(event, Array.isArray(logprobs) && logprobs.length === 0 ? inPlainDelta : inDelta);
  return rest === undefined && place === undefined ? undefined : JSON.stringify({ ...rest, ...place });
}

function detailsRest(details: unknown, known: ReadonlySet<string>): JsonObject | undefined {
  return isObject(details) ? restOf(details, known) : undefined;
}

/** Returns the fields that are not null, which means the same as absent. */
function present(fields: JsonObject | undefined): JsonObject | undefined {
  const kept = Object.entries(fields ?? {}).filter(([, value]) => value !== null);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
