// The rest of a chat-completions answer: split by its place in a chunk, and assembled over a whole answer. Pure.
import type { Event } from '#proto/inference/v1/inference.js';
import { filled, isObject, type JsonObject, mergeInto, objectIn, parseObject, without } from '../rest.js';

/** Holds the rest of one chunk. */
export interface ChunkRest {
  /** Fields of the chunk itself. */
  readonly top: JsonObject;
  /** Fields of choice 0, alongside the delta. */
  readonly choice: JsonObject;
  /** Fields of the delta of choice 0, without its tool calls. */
  readonly delta: JsonObject;
  /** Fields of choice 0's tool calls alongside their meaning, each with its index. */
  readonly toolCalls: readonly JsonObject[];
  /** Fields of the usage. */
  readonly usage: JsonObject;
  /** A finish reason of choice 0 that has no common form; empty if there is none. */
  readonly finishReason: string;
  /** The other choices of a foreign chunk, unchanged. */
  readonly others: readonly JsonObject[];
}

// The caller gets our id and time, the catalog's model and the recorded usage; an error key would turn the chunk into an error.
const oursInChunk = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'error']);
const oursInChoice = new Set(['index', 'delta', 'finish_reason']);
const oursInDelta = new Set(['role', 'content', 'refusal', 'tool_calls']);
const oursInToolCall = new Set(['index', 'id', 'type']);
const toolCallsOnly = new Set(['tool_calls']);

/** Parses a rest into its places in a chunk. */
export function chunkRestOf(json: string): ChunkRest {
  const chunk = parseObject(json);
  const choices = objectsIn(chunk['choices']);
  const first = choices.find((choice) => (choice['index'] ?? 0) === 0) ?? {};
  const delta = objectIn(first, 'delta');
  const finishReason = first['finish_reason'];
  return {
    top: without(chunk, oursInChunk),
    choice: without(first, oursInChoice),
    delta: without(delta, oursInDelta),
    toolCalls: objectsIn(delta['tool_calls']),
    usage: objectIn(chunk, 'usage'),
    finishReason: typeof finishReason === 'string' ? finishReason : '',
    others: choices
      .filter((choice) => isOtherIndex(choice['index']))
      .map((choice) => ({ ...choice, delta: objectIn(choice, 'delta'), finish_reason: choice['finish_reason'] ?? null })),
  };
}

/** Maximum number of choices in the format. */
const choicesMax = 128;

function isOtherIndex(index: unknown): boolean {
  return Number.isInteger(index) && (index as number) > 0 && (index as number) < choicesMax;
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/**
 * Returns the tool call that a piece of a rest belongs to: that of its index, otherwise the one of its event; undefined if there is none.
 * `begun` is the number of calls that have begun.
 */
function toolIndexOf(index: unknown, own: number | undefined, begun: number): number | undefined {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < begun ? (index as number) : own;
}

/** Returns the tool calls of a chunk with their rest: the call that the chunk is about, if any, and those that only the rest mentions. */
export function toolCallsWith(rest: readonly JsonObject[], own: JsonObject | undefined, begun: number): JsonObject[] {
  const calls = own === undefined ? [] : [own];
  for (const call of rest) {
    const index = toolIndexOf(call['index'], own?.['index'] as number | undefined, begun);
    const fields = without(call, oursInToolCall);
    const at = calls.findIndex((other) => other['index'] === index);
    if (at >= 0) calls[at] = filled(calls[at]!, fields);
    else if (index !== undefined) calls.push({ index, ...fields });
  }
  return calls;
}

/** Collects the rest of a whole answer. */
export class AnswerRest {
  readonly top: JsonObject = {};
  readonly choice: JsonObject = {};
  readonly message: JsonObject = {};
  readonly usage: JsonObject = {};
  finishReason = '';
  readonly #toolCalls: JsonObject = {};
  readonly #others = new Map<number, { choice: JsonObject; message: JsonObject; finishReason: string }>();

  /** Adds the rest of an event. `toolIndex` is the number of the tool call that the event is about, if any; `begun` is how many have begun. */
  add({ event, extraJson }: Event, toolIndex: number | undefined, begun: number): void {
    if (extraJson !== undefined) this.#merge(chunkRestOf(extraJson), toolIndex, begun);
    if (event?.$case === 'foreign') this.#merge(chunkRestOf(event.value.json), undefined, begun);
  }

  /** Returns what a tool call has alongside its meaning. */
  ofToolCall(index: number): JsonObject {
    return objectIn(this.#toolCalls, String(index));
  }

  /** Returns the other choices, in their order. */
  others(): JsonObject[] {
    const sorted = [...this.#others].toSorted(([left], [right]) => left - right);
    return sorted.map(([index, { choice, message, finishReason }]) => ({
      index,
      finish_reason: finishReason === '' ? 'stop' : finishReason,
      logprobs: null,
      ...choice,
      message: { role: 'assistant', content: null, refusal: null, annotations: [], ...withWholeToolCalls(message) },
    }));
  }

  #merge(rest: ChunkRest, toolIndex: number | undefined, begun: number): void {
    mergeInto(this.top, rest.top, 'whole');
    mergeInto(this.choice, rest.choice, 'whole');
    mergeInto(this.message, rest.delta, 'pieces');
    mergeInto(this.usage, rest.usage, 'whole');
    this.finishReason = rest.finishReason === '' ? this.finishReason : rest.finishReason;
    for (const call of rest.toolCalls) {
      const index = toolIndexOf(call['index'], toolIndex, begun);
      if (index !== undefined) mergeInto(this.#toolCalls, { [index]: without(call, oursInToolCall) }, 'pieces');
    }
    for (const other of rest.others) this.#mergeOther(other['index'] as number, other);
  }

  #mergeOther(index: number, piece: JsonObject): void {
    const other = this.#others.get(index) ?? { choice: {}, message: {}, finishReason: '' };
    this.#others.set(index, other);
    mergeInto(other.choice, without(piece, oursInChoice), 'whole');
    mergeInto(other.message, objectIn(piece, 'delta'), 'pieces');
    if (typeof piece['finish_reason'] === 'string') other.finishReason = piece['finish_reason'];
  }
}

/** Returns a message without the indexes that its tool calls were assembled by, which only streams have. */
function withWholeToolCalls(message: JsonObject): JsonObject {
  const calls = objectsIn(message['tool_calls']);
  if (calls.length === 0) return without(message, toolCallsOnly);
  const sorted = calls.toSorted((left, right) => Number(left['index']) - Number(right['index']));
  return { ...message, tool_calls: sorted.map((call) => without(call, indexOnly)) };
}

const indexOnly = new Set(['index']);
