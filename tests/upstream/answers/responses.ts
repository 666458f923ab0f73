// Answers in the responses format, as OpenAI's servers send them.
import { isJson, type Json } from '../checks/check.js';
import type { Block, Script, Usage } from '../script.js';
import { blocksOf, deltaChars, interleaved, pieces, usageOf, written } from './text-pieces.js';

const id = 'resp_stub';
const created = 1_763_600_000;

/** Returns the body of a non-streaming answer. */
export function responseBody(script: Script, request: Json): Json {
  const { stopReason } = script;
  return {
    ...envelope(script, request),
    status: stopReason === undefined ? 'completed' : 'incomplete',
    incomplete_details: stopReason === undefined ? null : { reason: stopReason },
    completed_at: created + 1,
    output: blocksOf(script).map((block, index) => itemOf(block, index, script)),
    usage: usageJson(script, request),
    ...script.atEnd,
  };
}

/** Returns the events of a streamed answer as the vendor would send them. */
function responseEvents(script: Script, request: Json): Json[] {
  const begun = { ...envelope(script, request), status: 'in_progress', incomplete_details: null, output: [], usage: null };
  const items = blocksOf(script).map((block, index) => itemEvents(block, index, script));
  const isCall = (index: number): boolean => blocksOf(script)[index]?.type === 'tool_call';
  const inOrder = items.filter((_, index) => script.interleaveToolCalls !== true || !isCall(index)).flat();
  const mixed = script.interleaveToolCalls === true ? interleaved(items.filter((_, index) => isCall(index))) : [];
  const whole = responseBody(script, request);
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...inOrder,
    ...mixed,
    { type: `response.${String(whole['status'])}`, response: whole },
  ];
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}

/** Returns the frames of a streamed answer. The two that say nothing yet are one. */
export function responseFrames(script: Script, request: Json): string[] {
  const [first = '', second = '', ...rest] = written(responseEvents(script, request), script, responseFrame);
  return [`${first}${second}`, ...rest];
}

/** Returns an event as a frame. */
function responseFrame(event: Json): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Returns the format's error frame. */
export function responseErrorFrame(error: unknown): string {
  const { type, code, ...fields } = isJson(error) ? error : { message: error };
  return responseFrame({ type: 'error', sequence_number: 9, ...fields, code: code ?? type });
}

function envelope(script: Script, request: Json): Json {
  return {
    id,
    object: 'response',
    created_at: created,
    model: request['model'],
    error: null,
    instructions: request['instructions'] ?? null,
    store: request['store'] ?? true,
    service_tier: 'default',
    ...script.envelope,
  };
}

/** Returns an item as it is when it is complete. */
function itemOf(block: Block, index: number, script: Script): Json {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return { id: `msg_${index}`, type: 'message', status: 'completed', role: 'assistant', content: [partOf(block, script)] };
    case 'reasoning':
      return {
        id: `rs_${index}`,
        type: 'reasoning',
        summary: block.text === '' ? [] : [{ type: 'summary_text', text: block.text }],
        ...(block.signature === undefined ? {} : { encrypted_content: block.signature }),
      };
    case 'redacted_reasoning':
      return { id: `rs_${index}`, type: 'reasoning', summary: [], encrypted_content: block.data };
    case 'tool_call':
      return block.custom === true
        ? { id: `ctc_${index}`, type: 'custom_tool_call', status: 'completed', call_id: block.id, name: block.name, input: block.arguments }
        : {
            id: `fc_${index}`,
            type: 'function_call',
            status: 'completed',
            call_id: block.id,
            name: block.name,
            arguments: block.arguments,
          };
    case 'vendor':
      return { id: `vd_${index}`, status: 'completed', ...(block.item ?? { type: 'vendor_call' }) };
  }
}

function partOf(block: Extract<Block, { type: 'text' | 'refusal' }>, script: Script): Json {
  if (block.type === 'refusal') return { type: 'refusal', refusal: block.text };
  const logprobs = block.logprobs === true ? pieces(block.text, deltaChars(script)).map(logprob) : [];
  return { type: 'output_text', text: block.text, annotations: annotationsOf(block), logprobs };
}

function annotationsOf({ annotations = [] }: Extract<Block, { type: 'text' }>): Json[] {
  return annotations.map(({ type, ...fields }) => ({ type, ...(fields[String(type)] as Json) }));
}

function logprob(token: string): Json {
  return { token, logprob: -0.25, bytes: [...Buffer.from(token)], top_logprobs: [] };
}

/** Returns the events of one item, in which an item that is not complete has no content yet. */
function itemEvents(block: Block, index: number, script: Script): Json[] {
  const whole = itemOf(block, index, script);
  const place = { item_id: whole['id'], output_index: index };
  const empty = Object.fromEntries(
    Object.entries({ content: [], summary: [], arguments: '', input: '', encrypted_content: '' }).filter(([name]) => name in whole),
  );
  const status = whole['status'] === undefined ? {} : { status: 'in_progress' };
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...whole, ...empty, ...status } },
    ...contentEvents(block, place, script),
    { type: 'response.output_item.done', output_index: index, item: whole },
  ];
}

function contentEvents(block: Block, place: Json, script: Script): Json[] {
  const split = (text: string): string[] => pieces(text, deltaChars(script));
  switch (block.type) {
    case 'text': {
      const at = { ...place, content_index: 0 };
      const logprobs = (token: string): Json[] => (block.logprobs === true ? [logprob(token)] : []);
      const part = partOf(block, script);
      return [
        { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '', annotations: [], logprobs: [] } },
        ...split(block.text).map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: logprobs(delta) })),
        ...annotationsOf(block).map((annotation, annotation_index) => ({
          type: 'response.output_text.annotation.added',
          ...at,
          annotation_index,
          annotation,
        })),
        { type: 'response.output_text.done', ...at, text: block.text, logprobs: part['logprobs'] },
        { type: 'response.content_part.done', ...at, part },
      ];
    }
    case 'refusal': {
      const at = { ...place, content_index: 0 };
      return [
        { type: 'response.content_part.added', ...at, part: { type: 'refusal', refusal: '' } },
        ...split(block.text).map((delta) => ({ type: 'response.refusal.delta', ...at, delta })),
        { type: 'response.refusal.done', ...at, refusal: block.text },
        { type: 'response.content_part.done', ...at, part: partOf(block, script) },
      ];
    }
    case 'reasoning': {
      const at = { ...place, summary_index: 0 };
      if (block.text === '') return [];
      return [
        { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } },
        ...split(block.text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
        { type: 'response.reasoning_summary_text.done', ...at, text: block.text },
        { type: 'response.reasoning_summary_part.done', ...at, part: { type: 'summary_text', text: block.text } },
      ];
    }
    case 'tool_call': {
      const [stem, field] = block.custom === true ? ['custom_tool_call_input', 'input'] : ['function_call_arguments', 'arguments'];
      return [
        ...split(block.arguments).map((delta) => ({ type: `response.${stem}.delta`, ...place, delta })),
        { type: `response.${stem}.done`, ...place, [field!]: block.arguments },
      ];
    }
    case 'redacted_reasoning':
      return [];
    case 'vendor':
      return (block.events ?? []).map((event) => ({ ...event, ...place }));
  }
}

function usageJson(script: Script, request: unknown): unknown {
  if (script.rawUsage !== undefined) return script.rawUsage;
  const usage = usageOf(script, request);
  return usage === undefined ? null : toJson(usage);
}

function toJson({ input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output, reasoning = 0 }: Usage): Json {
  const total = input + cacheRead + cacheWrite5m + cacheWrite1h;
  return {
    input_tokens: total,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite5m + cacheWrite1h },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total + output,
  };
}
