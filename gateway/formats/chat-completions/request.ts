// A chat-completions request → the common inference call, and the caller's own fields alongside it.
import type { ResponseFormat } from '#proto/inference/v1/inference.js';
import { webSearchUnit } from '#rules/money/pricing.js';
import { bodyReader, fieldError } from '../requests/body-reader.js';
import { Demands } from '../requests/required-capabilities.js';
import { endUserOf } from '../requests/end-user.js';
import { noteFields, sharedFields } from '../requests/openai-fields.js';
import { type FormatHeaders, type ParsedCall, unfilledRequest } from '../format.js';
import { inputTokensMax } from '../requests/input-bound.js';
import { translateConversation } from './conversation.js';
import { nativeChatCompletions } from './native.js';
import { translateReasoning } from './reasoning.js';
import { ChatCompletionRequest } from './schema.js';
import { translateToolChoice, translateTools } from './tools.js';
import { upgradeFunctions } from './upgrade-functions.js';

const readBody = bodyReader(ChatCompletionRequest, 'brackets');

/** Validates and translates a body. Raises invalid_request or unsupported_field with details.field. */
export function parseChatCompletions(value: unknown, { accountId = '', bodyText }: FormatHeaders = {}): ParsedCall {
  const body = upgradeFunctions(readBody(value));
  const demands = new Demands();
  noteFields(body, ChatCompletionRequest, demands);
  const conversation = translateConversation(body.messages, demands);
  const tools = translateTools(body.tools ?? [], demands);
  const { offered, toolChoice } = translateToolChoice(body, tools, demands);
  const prompt = { ...conversation, tools: offered, toolChoice };
  const responseFormat = translateFormat(body, demands);
  const reasoning = translateReasoning(body, demands);
  refuseAnswersElsewhere(body, demands);
  const parsed: ParsedCall = {
    model: body.model,
    streaming: body.stream === true,
    request: {
      ...unfilledRequest,
      prompt,
      sampling: {
        temperature: body.temperature ?? undefined,
        topP: body.top_p ?? undefined,
        topK: body.top_k ?? undefined,
        seed: body.seed === null || body.seed === undefined ? undefined : BigInt(body.seed),
        frequencyPenalty: body.frequency_penalty ?? undefined,
        presencePenalty: body.presence_penalty ?? undefined,
      },
      stopSequences: translateStop(body.stop),
      reasoning,
      endUser: endUserOf(body.user ?? body.safety_identifier),
      ...sharedFields(body.verbosity, body.prompt_cache_key, accountId),
      streaming: body.stream === true,
      native: nativeChatCompletions(body, demands, accountId, { body: value, text: bodyText }),
      responseFormat,
      choices: body.n ?? 1,
    },
    includeUsage: body.stream_options?.include_usage === true,
    // Upstreams of this format receive all tools, and which of them are allowed.
    inputTokensMax: inputTokensMax({ ...prompt, tools }) + demands.foreignTokensMax,
    images: demands.images,
    documents: demands.documents,
    needs: demands.needs,
    droppedFields: demands.dropped.names,
  };
  // The newer name takes precedence: clients that send both set the older one for servers that know only that.
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens;
  if (maxOutputTokens !== null && maxOutputTokens !== undefined) parsed.maxOutputTokens = maxOutputTokens;
  return parsed;
}

function translateStop(stop: ChatCompletionRequest['stop']): string[] {
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? []);
  // An empty sequence would end every answer before it begins; no vendor accepts it.
  return sequences.filter((sequence) => sequence !== '');
}

function translateFormat({ response_format: format }: ChatCompletionRequest, demands: Demands): ResponseFormat | undefined {
  if (format === null || format === undefined || format.type === 'text') return undefined;
  demands.addForeign(format);
  if (format.type === 'json_object') return { format: { $case: 'jsonObject', value: {} } };
  if (format.type === 'json_schema') {
    const { name, description, schema, strict } = format.json_schema;
    if (schema === null || schema === undefined) return { format: { $case: 'jsonObject', value: {} } };
    return {
      format: {
        $case: 'jsonSchema',
        value: { name, description: description ?? '', schemaJson: JSON.stringify(schema), strict: strict ?? undefined },
      },
    };
  }
  demands.refuseElsewhere('response_format.type', 'the model accepts text, json_object or json_schema');
  return undefined;
}

/** Refuses, on other formats, answers that only upstreams of this format can give: the caller would read missing fields. */
function refuseAnswersElsewhere(body: ChatCompletionRequest, demands: Demands): void {
  const topLogprobs = body.top_logprobs ?? 0;
  if (topLogprobs > 0 && body.logprobs !== true) throw fieldError('invalid_request', 'top_logprobs', 'requires "logprobs": true');
  if ((body.n ?? 1) > 1) demands.refuseElsewhere('n', 'the model returns one answer per call; make one call for each answer');
  if (body.web_search_options !== undefined && body.web_search_options !== null) {
    demands.addVendorTool('web_search_options', 'web_search_options', webSearchUnit);
    demands.addForeign(body.web_search_options);
    demands.refuseElsewhere('web_search_options', 'the model does not support web search; leave it out');
  }
  if (body.logprobs === true) demands.refuseElsewhere('logprobs', 'the model does not return log probabilities; leave it out');
}
