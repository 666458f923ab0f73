// Builds the body of POST /responses from a canonical request: the caller's own body plus our fields, or one built from the meaning. Pure.
import { countOf, webSearchUnit } from '#rules/money/pricing.js';
import {
  ApiFormat,
  type CountTokensRequest,
  type GenerateRequest,
  type Prompt,
  type Reasoning,
  type ResponseFormat,
  type Tool,
} from '#proto/inference/v1/inference.js';
import type { Translation } from '../chat-completions/content.js';
import {
  type ChatCompletionsFlavour,
  reasons,
  refusesEffort,
  refusesSampling,
  takesCacheBreakpoints,
} from '../chat-completions/flavour.js';
import { reasoningEffort } from '../chat-completions/reasoning-effort.js';
import { unsupported } from '../chat-completions/request.js';
import { isStrictSchema, responseFormatOf } from '../chat-completions/response-format.js';
import { sharedFields } from '../chat-completions/shared-fields.js';
import { toolFields } from '../chat-completions/tools/tool-fields.js';
import { toUpstreamToolName } from '../chat-completions/tools/tool-names.js';
import type { UpstreamBody } from '../http/wire.js';
import { callersNameOf, droppedFor, nativeFor } from '../requests/native.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import { toolParameters } from '../requests/tool-json.js';
import { conversation } from './input-items.js';
import { nativeBody } from './native-body.js';

/** The smallest output cap that OpenAI accepts in this format, in tokens. */
const openAiOutputMin = 16;

const format = ApiFormat.API_FORMAT_RESPONSES;

/** Returns the body of a request for a stream or a whole answer. Raises unsupported_field for what the format cannot express. */
export function responsesBody(request: GenerateRequest, model: string, flavour: ChatCompletionsFlavour, streams = true): UpstreamBody {
  checkCap(request, flavour);
  const ours = ownFields(request, model, flavour, streams);
  const native = nativeFor(request, format);
  if (native !== undefined) {
    const searches = countOf({ units: request.unitCaps }, webSearchUnit);
    return nativeBody(ours, searches === 0 ? native.fieldsJson : withToolCallsAtMost(searches, native.fieldsJson), flavour);
  }
  const dropped = new Set(droppedFor(request, format));
  const effort = reasoningEffort(request, refusesEffort(flavour, model), dropped);
  const { verbosity, promptCacheKey } = sharedFields(request, model, flavour, dropped);
  const fields = {
    ...ours,
    ...promptFields(request, model, flavour, dropped),
    ...(verbosity === undefined ? {} : { text: { ...textFormatOf(request.responseFormat), verbosity } }),
    prompt_cache_key: promptCacheKey,
    ...samplingFields(request, refusesSampling(flavour, model, effort), dropped),
    ...reasoningFields(request.reasoning, effort, reasons(flavour, model)),
  };
  return { json: JSON.stringify(fields), dropped: [...dropped] };
}

/** Returns the caller's fields with no more calls of the vendor's tools than money is held for. */
function withToolCallsAtMost(calls: number, fieldsJson: string): string {
  const fields = JSON.parse(fieldsJson) as JsonObject;
  const wanted = fields['max_tool_calls'];
  return JSON.stringify({ ...fields, max_tool_calls: typeof wanted === 'number' ? Math.min(wanted, calls) : calls });
}

/** Returns the body of a request to count tokens, from the caller's own fields or from the meaning. */
export function countTokensBody(request: CountTokensRequest, model: string, flavour: ChatCompletionsFlavour): string {
  const native = nativeFor(request, format);
  const fields =
    native === undefined
      ? promptFields(request, model, flavour, new Set())
      : (JSON.parse(nativeBody({ model }, native.fieldsJson, flavour).json) as JsonObject);
  return JSON.stringify({ model, ...Object.fromEntries(counted.map((name) => [name, fields[name]])) });
}

/** The fields that the vendor counts; it rejects others. */
const counted = ['input', 'instructions', 'parallel_tool_calls', 'reasoning', 'text', 'tool_choice', 'tools', 'truncation'];

function checkCap(request: GenerateRequest, { isOpenAi }: ChatCompletionsFlavour): void {
  const min = isOpenAi ? openAiOutputMin : 1;
  if (request.maxOutputTokens >= min) return;
  const field = callersNameOf('max_tokens', request);
  throw unsupported(field, `${field}: must be at least ${min} for this model`);
}

/** Returns the fields that we always set ourselves, whatever the caller sent. */
function ownFields(
  { maxOutputTokens, endUser }: GenerateRequest,
  model: string,
  { isOpenAi }: ChatCompletionsFlavour,
  streams: boolean,
): JsonObject {
  return {
    model,
    max_output_tokens: maxOutputTokens,
    // The vendor must store nothing: it would keep what all callers send and receive in the operator's account.
    store: false,
    [isOpenAi ? 'safety_identifier' : 'user']: endUser === '' ? undefined : endUser,
    ...(streams ? { stream: true, ...(isOpenAi ? { stream_options: { include_obfuscation: false } } : {}) } : {}),
  };
}

interface PromptFields {
  readonly prompt?: Prompt | undefined;
  readonly responseFormat?: ResponseFormat | undefined;
}

/** Returns everything that the model reads, and the form of the answer. */
function promptFields(
  { prompt, responseFormat }: PromptFields,
  model: string,
  flavour: ChatCompletionsFlavour,
  dropped: Set<string>,
): JsonObject {
  const translation: Translation = { ...flavour, takesBreakpoints: takesCacheBreakpoints(flavour, model), dropped };
  return {
    // If any JSON object is requested, the vendor requires the word JSON in the input, and instructions are not part of it.
    ...conversation(prompt!, translation, responseFormat?.format?.$case === 'jsonObject'),
    ...toolFields(prompt!, dropped, toTool, (name) => namedChoice(name, prompt!.tools)),
    text: textFormatOf(responseFormat),
  };
}

function samplingFields(request: GenerateRequest, areRefused: boolean, dropped: Set<string>): JsonObject {
  const { sampling, stopSequences } = request;
  if (stopSequences.length > 0)
    throw unsupported(
      callersNameOf('stop_sequences', request),
      'This model takes no stop sequences; leave them out, or use a model that takes them.',
    );
  if (sampling === undefined) return {};
  const { temperature, topP, topK, seed, frequencyPenalty, presencePenalty } = sampling;
  if (topK !== undefined) dropped.add('top_k');
  if (seed !== undefined) dropped.add('seed');
  if (frequencyPenalty) dropped.add('frequency_penalty');
  if (presencePenalty) dropped.add('presence_penalty');
  const shaping = { temperature, top_p: topP };
  if (!areRefused) return shaping;
  for (const [name, value] of Object.entries(shaping)) if (value !== undefined) dropped.add(name);
  return {};
}

/** Requests the effort, a summary where the caller set a budget and therefore reads thoughts, and the encrypted thoughts to send back. */
function reasoningFields(reasoning: Reasoning | undefined, effort: string | undefined, isReasoner: boolean): JsonObject {
  const summary = reasoning?.budgetTokens === undefined || effort === undefined ? undefined : 'auto';
  return {
    reasoning: effort === undefined ? undefined : { effort, summary },
    // OpenAI's models that do not reason reject it.
    include: isReasoner || effort !== undefined ? ['reasoning.encrypted_content'] : undefined,
  };
}

function toTool(tool: Tool): JsonObject {
  const head = { name: toUpstreamToolName(tool.name), description: tool.description === '' ? undefined : tool.description };
  if (tool.custom !== undefined) {
    const { grammarSyntax: syntax, grammar: definition } = tool.custom;
    return { type: 'custom', ...head, format: syntax === '' ? undefined : { type: 'grammar', syntax, definition } };
  }
  const parameters = toolParameters(tool) ?? { type: 'object', properties: {} };
  // Without the field, the vendor would normalize the schema for strict mode, where optional parameters become required; other formats do not.
  return { type: 'function', ...head, parameters, strict: tool.strict === true && isStrictSchema(parameters) };
}

const namedChoice = (name: string, tools: readonly Tool[]): JsonObject => ({
  type: tools.some((tool) => tool.name === name && tool.custom !== undefined) ? 'custom' : 'function',
  name: toUpstreamToolName(name),
});

function textFormatOf(responseFormat: ResponseFormat | undefined): JsonObject | undefined {
  const form = responseFormatOf(responseFormat);
  return form === undefined ? undefined : { format: { type: form['type'], ...(form['json_schema'] as JsonObject | undefined) } };
}
