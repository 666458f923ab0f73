// Builds the body of POST /messages or POST /messages/count_tokens from a common request. Pure.
import { type CountTokensRequest, type GenerateRequest, ApiFormat } from '#proto/inference/v1/inference.js';
import { countOf, webSearchUnit } from '#rules/money/pricing.js';
import type { UpstreamBody } from '../http/wire.js';
import { callersNameOf, droppedFor, nativeFor } from '../requests/native.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import { limitCacheMarks } from './cache-marks.js';
import { type Conversation, endsWithAssistant, isTurnWithoutThoughts, toConversation } from './conversation.js';
import { traitsOf } from './model-traits.js';
import { nativeBody, withBudgetBelow, withSearchesAtMost } from './native-body.js';
import { outputForm } from './output-format.js';
import { budgetField, planThinking, type ThinkingPlan } from './reasoning.js';
import { samplingFields } from './sampling.js';
import { isForced, toTool, toToolChoice } from './tools.js';

/** The vendor version that is sent if the caller named none. */
export const defaultMessagesVersion = '2023-06-01';

const format = ApiFormat.API_FORMAT_MESSAGES;

/**
 * Returns the body of a request for a stream or a whole answer: the caller's own fields if it uses this format, otherwise one built from the
 * meaning of the call.
 */
export function messagesBody(request: GenerateRequest, model: string, streams = true): UpstreamBody {
  const native = nativeFor(request, format);
  const metadata = request.endUser === '' ? undefined : { user_id: request.endUser };
  const ours = { model, max_tokens: request.maxOutputTokens, stream: streams ? true : undefined, metadata };
  if (native !== undefined) {
    const { fieldsJson, dropped } =
      (request.reasoning?.budgetTokens ?? 0) < request.maxOutputTokens
        ? { ...native, dropped: [] }
        : withBudgetBelow(request.maxOutputTokens, native.fieldsJson);
    const searches = countOf({ units: request.unitCaps }, webSearchUnit);
    return { json: nativeBody(ours, searches === 0 ? fieldsJson : withSearchesAtMost(searches, fieldsJson)), dropped };
  }
  const dropped = new Set(droppedFor(request, format));
  const { fields, thinking } = promptFields(request, model, request.maxOutputTokens, dropped);
  const version = request.messagesVersion || defaultMessagesVersion;
  const stops = request.stopSequences.filter((sequence) => sequence.trim() !== '');
  const body = {
    ...ours,
    ...fields,
    ...samplingFields(request.sampling, { version, traits: traitsOf(model), thinks: isThinking(thinking) }, dropped),
    stop_sequences: stops.length > 0 ? stops : undefined,
  };
  return { json: JSON.stringify(body), dropped: [...dropped] };
}

/** Returns the body of a request to count tokens, from the caller's own fields or from the meaning. */
export function countTokensBody(request: CountTokensRequest, model: string): string {
  const native = nativeFor(request, format);
  if (native !== undefined) return nativeBody({ model }, native.fieldsJson);
  return JSON.stringify({ model, ...promptFields(request, model, Number.MAX_SAFE_INTEGER, new Set()).fields });
}

type PromptFields = Pick<GenerateRequest, 'native' | 'prompt' | 'reasoning' | 'responseFormat'>;

/** Returns everything that the model reads, and how it should think and answer. Adds the names of fields that cannot be expressed to `dropped`. */
function promptFields(
  request: PromptFields,
  model: string,
  maxTokens: number,
  dropped: Set<string>,
): { fields: JsonObject; thinking: ThinkingPlan } {
  const prompt = request.prompt!;
  const traits = traitsOf(model);
  const form = outputForm(request.responseFormat, traits);
  const conversation = toConversation(prompt, traits);
  const { system, turns } = conversation;
  if (form.instruction !== undefined) system.push({ type: 'text', text: form.instruction });
  const choice = prompt.tools.length > 0 ? prompt.toolChoice : undefined;
  const thinking = planThinking(request.reasoning, { maxTokens, traits, forcesTool: isForced(choice), isMidTurn: isMidTurn(conversation) });
  const tools = prompt.tools.map(toTool);
  if (limitCacheMarks([...tools, ...system, ...turns.flatMap(({ content }) => content)])) dropped.add('cache_control');
  if (form.isLoose) dropped.add('response_format.json_schema.strict');
  if (thinking.isDropped) dropped.add(callersNameOf('output_config.effort', request));
  if (thinking.isLowered === true) dropped.add(budgetField);
  if (thinking.freesTool) dropped.add('tool_choice');
  const fields = {
    system: system.length > 0 ? system : undefined,
    messages: turns,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: toToolChoice(choice, thinking.freesTool),
    thinking: thinking.thinking,
    output_config:
      thinking.effort === undefined && form.format === undefined ? undefined : { effort: thinking.effort, format: form.format },
  };
  return { fields, thinking };
}

function isMidTurn(conversation: Conversation): boolean {
  return endsWithAssistant(conversation) || isTurnWithoutThoughts(conversation);
}

function isThinking({ thinking }: ThinkingPlan): boolean {
  return thinking !== undefined && thinking['type'] !== 'disabled';
}
