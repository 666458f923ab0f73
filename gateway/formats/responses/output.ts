// Events → the items of a responses answer, and each change as it happens: the source of whole answers and of streams.
import { type BlockDelta, type BlockStart, type Event, type Finished, StopReason } from '#proto/inference/v1/inference.js';
import { encryptedContentOf } from '#rules/wire/reasoning-seals.js';
import type { AnswerContext } from '../format.js';
import { isObject, type JsonObject, objectIn, parseObject, without } from '../rest.js';
import { itemId } from './ids.js';

/** Receives each change of the items, in order. */
export interface OutputSink {
  /** An event of the format without its `sequence_number`. */
  event(type: string, fields: JsonObject): void;
  /** A piece of text, by far the most frequent event. `rest` are its other fields. */
  delta(type: string, place: Place, text: string, rest: JsonObject | undefined): void;
}

/** Where text belongs, as text to insert in an event: `"item_id":"msg_1","output_index":0,"content_index":0`. */
export type Place = string;

type Status = 'in_progress' | 'completed' | 'incomplete';
type OwnType = 'message' | 'reasoning' | 'function_call' | 'custom_tool_call';

/** Text of a message or of reasoning. */
interface Part {
  readonly type: 'output_text' | 'refusal' | 'summary_text' | 'reasoning_text';
  readonly index: number;
  /** The upstream's index of a piece of reasoning; undefined if it has none. */
  readonly upstreamIndex: unknown;
  readonly place: Place;
  text: string;
  rest: JsonObject;
}

interface Item {
  readonly type: OwnType | 'foreign';
  readonly id: string;
  readonly index: number;
  /** Of a message; of reasoning its summary and content. */
  readonly parts: Part[];
  /** Of a call. */
  readonly call: { readonly id: string; readonly name: string; readonly place: Place; input: string } | undefined;
  /** What the vendor needs to read reasoning again. */
  readonly seal: { text: string; signature: string; readonly redactedData: string } | undefined;
  rest: JsonObject;
  status: Status;
}

/** A block whose events are arriving. Without a rest, its item begins with its first content: clients replay items, and vendors reject empty ones. */
interface OpenBlock {
  readonly start: BlockStart;
  readonly startRest: JsonObject | undefined;
  item: Item | undefined;
  part: Part | undefined;
}

const noop: OutputSink = { event: () => undefined, delta: () => undefined };

/** Collects the items of one answer. */
export class Output {
  /** The fields of the upstream's response that its first and its last event brought. */
  rest: JsonObject = {};
  /** The other fields of its usage. */
  usageRest: JsonObject = {};
  finished: Finished | undefined;
  /** Why the upstream ended the answer early, if that has no common form. */
  incompleteReason = '';
  hasRefusal = false;
  readonly #items: Item[] = [];
  readonly #ids = new Set<string>();
  readonly #open = new Map<number, OpenBlock>();
  /** Items that are complete unless the answer ends early, in order. */
  readonly #stopped: Item[] = [];

  constructor(
    private readonly context: AnswerContext,
    private readonly sink: OutputSink = noop,
  ) {}

  /** Adds an event. A foreign event is not part of any item. */
  add({ event, extraJson }: Event): void {
    switch (event?.$case) {
      case 'started':
        if (extraJson !== undefined) this.rest = parseObject(extraJson);
        return;
      case 'blockStart':
        return this.#startBlock(event.value, extraJson);
      case 'blockDelta':
        return this.#addDelta(event.value, extraJson);
      case 'blockStop':
        return this.#stopBlock(event.value.index, extraJson);
      case 'finished':
        return this.#finish(event.value, extraJson);
      default:
    }
  }

  /** Returns the items at the end of the answer. Those that the upstream did not complete are incomplete. */
  items(): JsonObject[] {
    return this.#items.map((item) => {
      const isCut = item.type !== 'reasoning' && item.status === 'in_progress';
      return this.#json(isCut ? { ...item, status: 'incomplete' } : item, item.parts);
    });
  }

  #startBlock(start: BlockStart, extraJson: string | undefined): void {
    const block: OpenBlock = {
      start,
      startRest: extraJson === undefined ? undefined : parseObject(extraJson),
      item: undefined,
      part: undefined,
    };
    this.#open.set(start.index, block);
    const kind = start.block?.$case;
    if (kind === 'toolCall' || kind === 'foreign' || block.startRest !== undefined) this.#begin(block);
    else if (start.block?.$case === 'reasoning' && start.block.value.redactedData !== '') this.#begin(block);
  }

  /** Returns the item of a block, and begins it if it has not. */
  #begin(block: OpenBlock): Item {
    if (block.item !== undefined) return block.item;
    const { start } = block;
    const itemRest = objectIn(block.startRest ?? {}, 'item');
    switch (start.block?.$case) {
      case 'text':
      case 'refusal': {
        const joined = this.#openMessage(itemRest);
        const item = joined ?? this.#addItem('message', itemRest);
        block.item = item;
        this.hasRefusal ||= start.block.$case === 'refusal';
        block.part = this.#addPart(item, start.block.$case === 'text' ? 'output_text' : 'refusal', objectIn(block.startRest ?? {}, 'part'));
        return item;
      }
      case 'reasoning':
        return (block.item = this.#addItem('reasoning', itemRest, { redactedData: start.block.value.redactedData }));
      case 'toolCall': {
        const { id, name, isCustom } = start.block.value;
        return (block.item = this.#addItem(isCustom === true ? 'custom_tool_call' : 'function_call', itemRest, { callId: id, name }));
      }
      default:
        return (block.item = this.#addItem('foreign', parseObject(start.block?.value.json ?? '{}')));
    }
  }

  /** Returns the message that a further part belongs to: the last item, if it is a message and not another one of the upstream. */
  #openMessage(itemRest: JsonObject): Item | undefined {
    const last = this.#items.at(-1);
    if (last?.type !== 'message' || last.status !== 'in_progress') return undefined;
    if (itemRest['id'] !== undefined && itemRest['id'] !== last.id) return undefined;
    const at = this.#stopped.indexOf(last);
    if (at >= 0) this.#stopped.splice(at, 1);
    return last;
  }

  #addItem(type: Item['type'], rest: JsonObject, own: { callId?: string; name?: string; redactedData?: string } = {}): Item {
    this.#endStopped('completed');
    const index = this.#items.length;
    const id = this.#idOf(type, rest['id'], index);
    const place = `"item_id":${JSON.stringify(id)},"output_index":${index}`;
    const item: Item = {
      type,
      id,
      index,
      parts: [],
      call: own.callId === undefined ? undefined : { id: own.callId, name: own.name ?? '', place, input: '' },
      seal: type === 'reasoning' ? { text: '', signature: '', redactedData: own.redactedData ?? '' } : undefined,
      rest,
      status: 'in_progress',
    };
    this.#items.push(item);
    this.sink.event('response.output_item.added', { output_index: index, item: this.#json(item, []) });
    return item;
  }

  /** Returns the upstream's id of an item, or our own if it has none or a repeated one: callers identify items by it. */
  #idOf(type: Item['type'], ofUpstream: unknown, index: number): string {
    const isUsable = typeof ofUpstream === 'string' && ofUpstream !== '' && !this.#ids.has(ofUpstream);
    const id = isUsable ? ofUpstream : itemId(prefixes[type], this.context.requestId, index);
    this.#ids.add(id);
    return id;
  }

  #addPart(item: Item, type: Part['type'], rest: JsonObject, upstreamIndex?: unknown): Part {
    const index = item.parts.filter((part) => (part.type === 'summary_text') === (type === 'summary_text')).length;
    const isSummary = type === 'summary_text';
    const where = isSummary ? 'summary_index' : 'content_index';
    const place = `"item_id":${JSON.stringify(item.id)},"output_index":${item.index},"${where}":${index}`;
    const part: Part = { type, index, upstreamIndex, place, text: '', rest };
    item.parts.push(part);
    this.sink.event(isSummary ? 'response.reasoning_summary_part.added' : 'response.content_part.added', {
      ...placeOf(item, part),
      part: partJson(part),
    });
    return part;
  }

  #addDelta({ index, delta }: BlockDelta, extraJson: string | undefined): void {
    const block = this.#open.get(index);
    if (block === undefined || delta === undefined) return;
    if (delta.$case === 'foreignJson') return this.#addForeignDelta(this.#begin(block), block.part, delta.value);
    if (delta.value === '' && extraJson === undefined) return;
    const item = this.#begin(block);
    const rest = extraJson === undefined ? undefined : parseObject(extraJson);
    const others = rest === undefined ? undefined : without(rest, oursInDelta);
    if (delta.$case === 'signature') {
      if (item.seal !== undefined) item.seal.signature += delta.value;
    } else if (item.call !== undefined) {
      if (delta.$case !== 'argumentsJson') return;
      item.call.input += delta.value;
      this.sink.delta(callEvents[item.type as keyof typeof callEvents].delta, item.call.place, delta.value, others);
    } else if (item.seal !== undefined) this.#addReasoning(block, item, delta.value, rest, others);
    else if (block.part !== undefined) this.#addText(block.part, delta.value, others);
  }

  #addText(part: Part, text: string, rest: JsonObject | undefined): void {
    part.text += text;
    this.sink.delta(textEvents[part.type].delta, part.place, text, rest);
  }

  #addReasoning(block: OpenBlock, item: Item, text: string, rest: JsonObject | undefined, others: JsonObject | undefined): void {
    item.seal!.text += text;
    if (rest?.['is_separator'] === true) return;
    const type = rest?.['content_index'] === undefined ? 'summary_text' : 'reasoning_text';
    const upstreamIndex = rest?.['summary_index'] ?? rest?.['content_index'];
    const { part } = block;
    // Text without an index continues the part that is open.
    const continues = part !== undefined && (upstreamIndex === undefined || (part.type === type && part.upstreamIndex === upstreamIndex));
    if (!continues) {
      if (part !== undefined) this.#endPart(item, part);
      block.part = this.#addPart(item, type, {}, upstreamIndex);
    }
    this.#addText(block.part!, text, others);
  }

  /** Reports an event about an item that has no common form. What it says is also in the item when that is done. */
  #addForeignDelta(item: Item, part: Part | undefined, json: string): void {
    const event = parseObject(json);
    const type = foreignTypeOf(event);
    if (type !== undefined) this.sink.event(type, { ...without(event, oursInEvent), ...placeOf(item, part) });
  }

  #stopBlock(index: number, extraJson: string | undefined): void {
    const block = this.#open.get(index);
    if (block === undefined) return;
    this.#open.delete(index);
    const rest = extraJson === undefined ? {} : parseObject(extraJson);
    const { item } = block;
    if (item === undefined) return;
    const itemRest = rest['item'];
    if (isObject(itemRest)) item.rest = item.type === 'foreign' ? itemRest : { ...item.rest, ...itemRest };
    if (isObject(rest['part']) && block.part !== undefined) block.part.rest = rest['part'];
    if (block.part !== undefined) this.#endPart(item, block.part);
    this.#endCall(item);
    this.#stopped.push(item);
  }

  #endPart(item: Item, part: Part): void {
    const place = placeOf(item, part);
    const own = part.type === 'refusal' ? { refusal: part.text } : { text: part.text };
    const logprobs = part.type === 'output_text' ? { logprobs: part.rest['logprobs'] ?? [] } : {};
    this.sink.event(textEvents[part.type].done, { ...place, ...own, ...logprobs });
    const isSummary = part.type === 'summary_text';
    this.sink.event(isSummary ? 'response.reasoning_summary_part.done' : 'response.content_part.done', { ...place, part: partJson(part) });
  }

  #endCall({ type, call, id, index }: Item): void {
    if (call === undefined) return;
    // Callers parse the arguments of every function call, so a call without any gets an empty object.
    if (type === 'function_call' && call.input === '') {
      call.input = '{}';
      this.sink.delta(callEvents.function_call.delta, call.place, '{}', undefined);
    }
    const place = { item_id: id, output_index: index };
    if (type === 'function_call')
      this.sink.event(callEvents.function_call.done, { ...place, arguments: call.input, name: this.#nameOf(call.name).name });
    else this.sink.event(callEvents.custom_tool_call.done, { ...place, input: call.input });
  }

  #finish(finished: Finished, extraJson: string | undefined): void {
    for (const index of this.#open.keys()) this.#stopBlock(index, undefined);
    this.finished = finished;
    const rest = extraJson === undefined ? {} : parseObject(extraJson);
    Object.assign(this.rest, without(objectIn(rest, 'response'), new Set(['__proto__'])));
    this.usageRest = objectIn(rest, 'usage');
    const { reason } = objectIn(rest, 'incomplete_details');
    this.incompleteReason = typeof reason === 'string' ? reason : '';
    this.#endStopped(incompleteReasonOf(this) === undefined ? 'completed' : 'incomplete');
  }

  /** Ends the items whose blocks have stopped. Only the last one may be incomplete. */
  #endStopped(lastStatus: Exclude<Status, 'in_progress'>): void {
    for (const [at, item] of this.#stopped.entries()) {
      item.status = at === this.#stopped.length - 1 ? lastStatus : 'completed';
      this.sink.event('response.output_item.done', { output_index: item.index, item: this.#json(item, item.parts) });
    }
    this.#stopped.length = 0;
  }

  #json(item: Item, parts: readonly Part[]): JsonObject {
    const { type, id, call, status } = item;
    if (type === 'foreign') return { ...item.rest, id };
    const rest = without(item.rest, oursInItem);
    switch (type) {
      case 'message':
        return { id, type, status, role: 'assistant', content: parts.map(partJson), ...rest };
      case 'reasoning':
        return { id, type, ...reasoningJson(parts), ...this.#sealOf(item), ...rest };
      case 'function_call':
        return { id, type, status, arguments: call!.input, call_id: call!.id, ...this.#nameOf(call!.name), ...rest };
      case 'custom_tool_call':
        return { id, type, status, call_id: call!.id, input: call!.input, ...this.#nameOf(call!.name), ...rest };
    }
  }

  /** Returns a tool's name as the caller sent it. */
  #nameOf(name: string): { readonly name: string; readonly namespace?: string } {
    return this.context.echo?.toolNames.get(name) ?? { name };
  }

  /** Returns what an upstream of another format needs to read the reasoning again. It is there without being requested, for clients that keep the conversation themselves. */
  #sealOf({ seal, status, rest }: Item): JsonObject {
    if (rest['id'] !== undefined) return {};
    return status === 'in_progress' ? { encrypted_content: null } : { encrypted_content: encryptedContentOf(seal!) };
  }
}

/** Returns why an answer is incomplete; undefined if it is complete. An answer that ends with a refusal is complete. */
export function incompleteReasonOf({ finished, incompleteReason, hasRefusal }: Output): string | undefined {
  switch (finished?.stopReason) {
    case StopReason.STOP_REASON_MAX_TOKENS:
    case StopReason.STOP_REASON_CONTEXT_FULL:
      return 'max_output_tokens';
    case StopReason.STOP_REASON_REFUSAL:
      return hasRefusal ? undefined : 'content_filter';
    default:
      return incompleteReason === '' ? undefined : incompleteReason;
  }
}

/** Returns the type of an event that is relayed; undefined for those that the encoder writes itself. */
export function foreignTypeOf(event: JsonObject): string | undefined {
  const { type } = event;
  return typeof type === 'string' && /^[\w.-]+$/.test(type) && !ownEvents.has(type) ? type : undefined;
}

const prefixes = { message: 'msg', reasoning: 'rs', function_call: 'fc', custom_tool_call: 'ctc', foreign: 'item' } as const;

const textEvents = {
  output_text: { delta: 'response.output_text.delta', done: 'response.output_text.done' },
  refusal: { delta: 'response.refusal.delta', done: 'response.refusal.done' },
  summary_text: { delta: 'response.reasoning_summary_text.delta', done: 'response.reasoning_summary_text.done' },
  reasoning_text: { delta: 'response.reasoning_text.delta', done: 'response.reasoning_text.done' },
} as const;
const callEvents = {
  function_call: { delta: 'response.function_call_arguments.delta', done: 'response.function_call_arguments.done' },
  custom_tool_call: { delta: 'response.custom_tool_call_input.delta', done: 'response.custom_tool_call_input.done' },
} as const;

const ownEvents: ReadonlySet<string> = new Set([
  'error',
  ...['created', 'in_progress', 'queued', 'completed', 'incomplete', 'failed', 'output_item.added', 'output_item.done'].map(
    (name) => `response.${name}`,
  ),
  ...['content_part', 'reasoning_summary_part'].flatMap((name) => [`response.${name}.added`, `response.${name}.done`]),
  ...[...Object.values(textEvents), ...Object.values(callEvents)].flatMap(({ delta, done }) => [delta, done]),
]);

/** What the encoder sets itself. */
const oursInEvent = new Set(['sequence_number', 'type', 'item_id', 'output_index', '__proto__']);
const oursInItem = new Set(['id', 'type', 'status', 'role', 'content', 'summary', 'call_id', 'name', 'arguments', 'input', '__proto__']);
const oursInPart = new Set(['type', 'text', 'refusal', '__proto__']);
const oursInDelta = new Set([...oursInEvent, 'delta', 'content_index', 'summary_index', 'is_separator']);

function placeOf(item: Item, part: Part | undefined): JsonObject {
  const place = { item_id: item.id, output_index: item.index };
  if (part === undefined) return place;
  return part.type === 'summary_text' ? { ...place, summary_index: part.index } : { ...place, content_index: part.index };
}

function partJson(part: Part): JsonObject {
  const rest = without(part.rest, oursInPart);
  if (part.type === 'refusal') return { type: part.type, refusal: part.text, ...rest };
  if (part.type === 'output_text') return { type: part.type, text: part.text, annotations: [], logprobs: [], ...rest };
  return { type: part.type, text: part.text, ...rest };
}

function reasoningJson(parts: readonly Part[]): JsonObject {
  const content = parts.filter((part) => part.type === 'reasoning_text').map(partJson);
  const summary = parts.filter((part) => part.type === 'summary_text').map(partJson);
  return content.length === 0 ? { summary } : { summary, content };
}
