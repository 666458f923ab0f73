// A messages request → the common inference call, and the caller's own fields alongside it.
import type { TObject } from 'typebox';
import { bodyReader, fieldError } from '../requests/body-reader.js';
import { endUserOf } from '../requests/end-user.js';
import { ignoredKeyword } from '../requests/fields.js';
import { type FormatHeaders, type ParsedCall, type ParsedCount, unfilledRequest } from '../format.js';
import { inputTokensMax } from '../requests/input-bound.js';
import { isKnownInOtherCase } from '../requests/native-fields.js';
import { markLast, translateMessages, translateSystem } from './conversation.js';
import { nativeMessages, oursToSay } from './native.js';
import { Reading, version2026 } from './reading.js';
import { translateFormat, translateReasoning } from './reasoning.js';
import { CountTokensRequest, MessagesRequest } from './schema.js';
import { translateToolChoice, translateTools } from './tools.js';

const readBody = bodyReader(MessagesRequest, 'dots');
const readCountTokensBody = bodyReader(CountTokensRequest, 'dots');

/** Validates and translates a body. Raises invalid_request or unsupported_field with details.field. */
export function parseMessages(value: unknown, headers: FormatHeaders): ParsedCall {
  const body = readBody(value);
  assertSamplingAllowed(body, headers.version);
  const betas = headers.betas ?? [];
  assertThinkingFits(body, betas);
  const { demands, ...common } = readCommon(body, MessagesRequest, headers);
  for (const name of ['stream_options', 'max_completion_tokens', 'user', 'safety_identifier']) if (name in body) demands.dropped.add(name);
  for (const name of Object.keys(body.metadata ?? {})) if (name !== 'user_id') demands.dropped.add(`metadata.${name}`);
  return {
    model: body.model,
    streaming: body.stream === true,
    maxOutputTokens: body.max_tokens,
    request: {
      ...unfilledRequest,
      ...common,
      sampling: { temperature: body.temperature ?? undefined, topP: body.top_p ?? undefined, topK: body.top_k ?? undefined },
      stopSequences: [...(body.stop_sequences ?? [])],
      endUser: endUserOf(body.metadata?.user_id),
      streaming: body.stream === true,
      choices: 1,
    },
    // Every streamed answer in this format includes the final usage.
    includeUsage: true,
    inputTokensMax: inputTokensMax(common.prompt) + demands.foreignTokensMax,
    images: demands.images,
    documents: demands.documents,
    needs: demands.needs,
    droppedFields: demands.dropped.names,
  };
}

/** Validates and translates a count_tokens body, which has no max_tokens. Raises as `parseMessages`. */
export function parseCountTokens(value: unknown, headers: FormatHeaders): ParsedCount {
  const body = readCountTokensBody(value);
  const { demands, ...request } = readCommon(body, CountTokensRequest, headers, generationFields);
  return { model: body.model, request, needs: demands.needs, droppedFields: demands.dropped.names };
}

/** Fields that have no effect on the input, and that vendors reject in a count request. */
const generationFields = ['stop_sequences', 'temperature', 'top_p', 'top_k'];

/** Reads what a call and a count have in common; `without` are fields that upstreams of this format must not receive. */
function readCommon(
  body: CountTokensRequest,
  schema: TObject,
  { version = '', betas = [], bodyText }: FormatHeaders,
  without: readonly string[] = [],
) {
  const reading = new Reading(version);
  const { demands } = reading;
  demands.addUnhonoured(body, schema);
  const ignored: string[] = [...without];
  /** What the vendor of this format does not publish. */
  const others: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    // Vendors differ on whether null is the same as absent.
    if (property !== undefined && (value === null || ignoredKeyword in property)) ignored.push(name);
    if (property === undefined && isKnownInOtherCase(name, schema.properties)) ignored.push(name);
    else if (property === undefined && !oursToSay.includes(name)) {
      others.push(name);
      reading.passOn(value, name);
    }
  }
  assertNoCompaction(body.context_management);
  if (body.context_management !== undefined && body.context_management !== null)
    reading.passOn(body.context_management, 'context_management');
  const tools = translateTools(body.tools ?? [], reading);
  const prompt = {
    ...translateSystem(body.system, reading),
    messages: translateMessages(body.messages, reading),
    tools,
    toolChoice: translateToolChoice(body.tool_choice, body.tools ?? [], reading),
  };
  assertThinkingFreeToChoose(body);
  const automatic = reading.cacheTtl(body, '');
  if (automatic !== undefined) markLast(prompt.messages, automatic);
  const reasoning = translateReasoning(body, reading);
  const responseFormat = translateFormat(body, reading);
  const native = nativeMessages(body, ignored, others, [...new Set(betas)], demands, { body, text: bodyText });
  return { prompt, reasoning, responseFormat, native, messagesVersion: version, demands };
}

function assertSamplingAllowed(body: MessagesRequest, version = ''): void {
  if (version < version2026) return;
  for (const field of ['temperature', 'top_p', 'top_k'] as const) {
    if (body[field] === null || body[field] === undefined) continue;
    throw fieldError(
      'invalid_request',
      field,
      `Extra inputs are not permitted since version ${version2026}; leave it out or send an earlier version`,
    );
  }
}

function assertThinkingFits({ thinking, max_tokens }: MessagesRequest, betas: readonly string[]): void {
  if (thinking?.type !== 'enabled' || thinking.budget_tokens < max_tokens) return;
  // With interleaved thinking the budget covers all thinking between the tool calls of a turn, and so several answers.
  if (betas.some((flag) => flag.startsWith('interleaved-thinking-'))) return;
  throw fieldError('invalid_request', 'thinking.budget_tokens', 'must be less than max_tokens');
}

function assertThinkingFreeToChoose({ thinking, tool_choice: choice }: CountTokensRequest): void {
  if (thinking?.type !== 'enabled' || (choice?.type !== 'any' && choice?.type !== 'tool')) return;
  throw fieldError(
    'invalid_request',
    'tool_choice',
    'Thinking may not be enabled when tool_choice forces tool use; use "auto", or disable thinking',
  );
}

/** Refuses compaction: for a vendor it is a separate generation, which the usage of the answer does not count. */
function assertNoCompaction(management: unknown): void {
  const edits = (management as { edits?: unknown } | null | undefined)?.edits;
  if (!Array.isArray(edits)) return;
  for (const [index, edit] of edits.entries()) {
    const type = (edit as { type?: unknown } | null)?.type;
    if (typeof type !== 'string' || !type.startsWith('compact')) continue;
    throw fieldError('unsupported_field', `context_management.edits.${index}.type`, 'compaction is not supported; leave it out');
  }
}
