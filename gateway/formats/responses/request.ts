// A responses request → the common inference call, the caller's own fields alongside it, and what the answer repeats of it.
import type { Reasoning, ResponseFormat } from '#proto/inference/v1/inference.js';
import { bodyReader, fieldError } from '../requests/body-reader.js';
import { endUserOf } from '../requests/end-user.js';
import { noteFields, sharedFields, translateEffort } from '../requests/openai-fields.js';
import { type FormatHeaders, type ParsedCall, type ParsedCount, unfilledRequest } from '../format.js';
import { inputTokensMax } from '../requests/input-bound.js';
import { Demands } from '../requests/required-capabilities.js';
import { translateConversation } from './conversation.js';
import { echoOf } from './echo.js';
import { nativeResponses } from './native.js';
import { resolveReferences } from './stored.js';
import { ReasoningConfig, ResponseRequest, TextConfig } from './schema.js';
import type { ToolNames } from './tool-names.js';
import { translateToolChoice, translateTools } from './tools.js';

const readBody = bodyReader(ResponseRequest, 'brackets');

/** Validates and translates a body. Raises invalid_request or unsupported_field with details.field. */
export function parseResponses(value: unknown, { accountId = '', originator = '', bodyText, stored }: FormatHeaders = {}): ParsedCall {
  const sent = readBody(value);
  if (stored === undefined) assertNoReference(sent);
  const resolved = stored === undefined ? undefined : resolveReferences(sent, stored);
  const body = resolved === undefined || resolved.body === sent ? sent : readBody(resolved.body);
  const demands = new Demands();
  noteFields(body, ResponseRequest, demands);
  const names: ToolNames = new Map();
  const tools = translateTools(body, names, demands, originator);
  const conversation = translateConversation(body, names, demands, resolved?.paths);
  const { offered, toolChoice } = translateToolChoice(body, tools, names, demands);
  const prompt = { ...conversation, tools: offered, toolChoice };
  const responseFormat = translateFormat(body, demands);
  const reasoning = translateReasoning(body, demands);
  noteInclude(body, demands);
  const isStored = stored !== undefined && body.store !== false;
  const parsed: ParsedCall = {
    model: body.model,
    streaming: body.stream === true,
    request: {
      ...unfilledRequest,
      prompt,
      sampling: {
        temperature: body.temperature ?? undefined,
        topP: body.top_p ?? undefined,
        topK: undefined,
        seed: undefined,
        frequencyPenalty: undefined,
        presencePenalty: undefined,
      },
      stopSequences: [],
      reasoning,
      endUser: endUserOf(body.user ?? body.safety_identifier),
      ...sharedFields(body.text?.verbosity, body.prompt_cache_key, accountId),
      streaming: body.stream === true,
      native: nativeResponses(body, demands, { accountId, originator }, { body: value, text: bodyText }),
      responseFormat,
      choices: 1,
    },
    includeUsage: true,
    // Upstreams of this format receive all tools, and which of them are allowed.
    inputTokensMax: inputTokensMax({ ...prompt, tools }) + demands.foreignTokensMax,
    images: demands.images,
    documents: demands.documents,
    needs: demands.needs,
    droppedFields: demands.dropped.names,
    echo: echoOf(body, names, isStored),
    storable: isStored ? { input: resolved!.own, previousIds: stored!.previousIds } : undefined,
  };
  if (body.max_output_tokens !== null && body.max_output_tokens !== undefined) parsed.maxOutputTokens = body.max_output_tokens;
  return parsed;
}

function assertNoReference({ previous_response_id: id }: ResponseRequest): void {
  if (id !== null && id !== undefined)
    throw fieldError('unsupported_field', 'previous_response_id', 'answers are not stored; send the whole conversation in input');
}

/** Validates and translates a body whose input is counted. Raises as `parseResponses`; fields that only generation needs have no effect. */
export function parseInputTokens(value: unknown, headers: FormatHeaders = {}): ParsedCount {
  const { model, request, needs, droppedFields } = parseResponses(value, headers);
  const { prompt, reasoning, native, responseFormat } = request;
  return { model, request: { prompt: prompt!, reasoning, messagesVersion: '', native, responseFormat }, needs, droppedFields };
}

function translateFormat({ text }: ResponseRequest, demands: Demands): ResponseFormat | undefined {
  if (text === null || text === undefined) return undefined;
  demands.addUnhonoured(text, TextConfig, 'text.');
  const { format } = text;
  if (format === null || format === undefined || format.type === 'text') return undefined;
  demands.addForeign(format);
  if (format.type === 'json_object') return { format: { $case: 'jsonObject', value: {} } };
  if (format.type === 'json_schema') {
    const { name, description, schema, strict } = format;
    const schemaJson = JSON.stringify(schema);
    return { format: { $case: 'jsonSchema', value: { name, description: description ?? '', schemaJson, strict: strict ?? undefined } } };
  }
  demands.refuseElsewhere('text.format.type', 'the model accepts text, json_object or json_schema');
  return undefined;
}

function translateReasoning({ reasoning }: ResponseRequest, demands: Demands): Reasoning | undefined {
  if (reasoning === null || reasoning === undefined) return undefined;
  demands.addUnhonoured(reasoning, ReasoningConfig, 'reasoning.');
  const { effort } = reasoning;
  return effort === null || effort === undefined ? undefined : translateEffort(effort, 'reasoning.effort', demands);
}

/** Notes what the caller wants alongside the answer: without log probabilities it would read missing fields. */
function noteInclude({ include, top_logprobs: topLogprobs }: ResponseRequest, demands: Demands): void {
  for (const [index, name] of (include ?? []).entries()) {
    if (name === 'reasoning.encrypted_content') continue;
    if (name === 'message.output_text.logprobs')
      demands.refuseElsewhere(`include[${index}]`, 'the model does not return log probabilities; leave it out');
    else demands.droppedElsewhere.add('include');
  }
  if ((topLogprobs ?? 0) > 0 && include?.includes('message.output_text.logprobs') !== true)
    throw fieldError('invalid_request', 'top_logprobs', 'requires "message.output_text.logprobs" in include');
}
