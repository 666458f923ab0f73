// Builds the body of POST /chat/completions from a canonical request: the caller's own body plus our fields, or one built from the meaning. Pure.
import { AppError } from '#client/errors/app-error.js';
import { type GenerateRequest, type Tool, ApiFormat } from '#proto/inference/v1/inference.js';
import type { UpstreamBody } from '../http/wire.js';
import { toolDescription } from '../requests/custom-tools.js';
import { droppedFor, nativeFor } from '../requests/native.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import { toolParameters } from '../requests/tool-json.js';
import type { Translation } from './content.js';
import { conversation } from './conversation.js';
import { capField, type ChatCompletionsFlavour, refusesEffort, refusesSampling, takesCacheBreakpoints } from './flavour.js';
import { nativeBody } from './native/native-body.js';
import { reasoningEffort } from './reasoning-effort.js';
import { isStrictSchema, responseFormatOf } from './response-format.js';
import { sharedFields } from './shared-fields.js';
import { toolFields } from './tools/tool-fields.js';
import { toUpstreamToolName } from './tools/tool-names.js';

/** Maximum number of stop sequences in this format. */
const stopSequencesMax = 4;

/** Returns the body of a request for a stream with usage, or for a whole answer. Raises unsupported_field for what the format cannot express. */
export function chatCompletionsBody(
  request: GenerateRequest,
  model: string,
  flavour: ChatCompletionsFlavour,
  streams = true,
): UpstreamBody {
  if (request.maxOutputTokens === 0) throw unsupported('max_tokens', 'max_tokens: must be at least 1 for this model');
  const ours = ownFields(request, model, flavour, streams);
  const native = nativeFor(request, ApiFormat.API_FORMAT_CHAT_COMPLETIONS);
  if (native !== undefined) return nativeBody(ours, native.fieldsJson, flavour);
  const dropped = new Set(droppedFor(request, ApiFormat.API_FORMAT_CHAT_COMPLETIONS));
  const translation = { ...flavour, takesBreakpoints: takesCacheBreakpoints(flavour, model), dropped };
  return { json: JSON.stringify({ ...ours, ...translatedFields(request, model, translation) }), dropped: [...dropped] };
}

/** Returns the fields that we always set ourselves, whatever the caller sent. */
function ownFields(
  { maxOutputTokens, endUser }: GenerateRequest,
  model: string,
  flavour: ChatCompletionsFlavour,
  streams: boolean,
): JsonObject {
  const { isOpenAi, isMistral } = flavour;
  const streamOptions = isMistral === true ? undefined : { include_usage: true, ...(isOpenAi ? { include_obfuscation: false } : {}) };
  return {
    model,
    [capField(flavour, model)]: maxOutputTokens,
    [isOpenAi ? 'safety_identifier' : 'user']: endUser === '' || isMistral === true ? undefined : endUser,
    ...(streams ? { stream: true, stream_options: streamOptions } : {}),
  };
}

function translatedFields(request: GenerateRequest, model: string, translation: Translation): JsonObject {
  const { stopSequences, responseFormat } = request;
  if (stopSequences.length > stopSequencesMax)
    throw unsupported('stop_sequences', `This model takes at most ${stopSequencesMax} stop sequences.`);
  const effort = reasoningEffort(request, refusesEffort(translation, model), translation.dropped);
  const { verbosity, promptCacheKey } = sharedFields(request, model, translation, translation.dropped);
  return {
    messages: conversation(request.prompt!, translation),
    ...toolFields(request.prompt!, translation.dropped, toTool, namedChoice),
    ...samplingFields(request, refusesSampling(translation, model, effort), translation.dropped),
    stop: stopSequences.length > 0 ? stopSequences : undefined,
    reasoning_effort: effort,
    response_format: responseFormatOf(responseFormat),
    verbosity,
    prompt_cache_key: promptCacheKey,
  };
}

function samplingFields({ sampling }: GenerateRequest, areRefused: boolean, dropped: Set<string>): JsonObject {
  if (sampling === undefined) return {};
  if (sampling.topK !== undefined) dropped.add('top_k');
  const shaping = {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
  };
  if (areRefused) for (const [name, value] of Object.entries(shaping)) if (value !== undefined) dropped.add(name);
  return {
    ...(areRefused ? {} : shaping),
    // JSON numbers are exact up to 2^53; a larger seed is mapped into that range deterministically.
    seed: sampling.seed === undefined ? undefined : Number(BigInt.asIntN(53, sampling.seed)),
  };
}

function toTool(tool: Tool): JsonObject {
  const parameters = toolParameters(tool);
  const description = toolDescription(tool);
  return {
    type: 'function',
    function: {
      name: toUpstreamToolName(tool.name),
      description: description === '' ? undefined : description,
      parameters,
      // This format's strict mode rejects schemas that the messages format's accepts.
      strict: tool.strict === true ? isStrictSchema(parameters) : tool.strict,
    },
  };
}

const namedChoice = (name: string): JsonObject => ({ type: 'function', function: { name: toUpstreamToolName(name) } });

/** Returns the error for what the format cannot express. */
export function unsupported(field: string, message: string): AppError {
  return new AppError('unsupported_field', message, { details: { field } });
}
