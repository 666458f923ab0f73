// Assembles the tool calls of a chat-completions stream, whose fragments may arrive interleaved, without an index, or with the
// id or name late. They are written as one block after another: a call streams while it is the only one open, and later ones wait for its end.
import type { BlockWriter } from '../../answers/block-writer.js';
import { JsonBoundary } from '../../answers/json-boundary.js';
import { isObject, type JsonObject, malformed, optionalTextField } from '../../answers/stream-decoder.js';
import { toolCallLeft } from '../rest.js';

/** Maximum number of tool calls in one answer. */
const toolCallsMax = 512;

interface Call {
  /** The caller's number of the call. */
  readonly position: number;
  /** The upstream's index, if it sends one. */
  readonly index: number | undefined;
  /** The upstream's id; empty until it is sent. */
  sentId: string;
  /** The id that the caller reads: the same as `sentId` unless two calls share it. */
  id: string;
  name: string;
  /** Whether the arguments are free text instead of JSON. */
  isCustom: boolean;
  /** Fragments that wait until the block can be written. */
  readonly waiting: string[];
  /** What fragments carried alongside their meaning while the block could not be written. */
  readonly rests: JsonObject[];
  readonly boundary: JsonBoundary;
  hasArguments: boolean;
  state: 'waiting' | 'open' | 'closed';
}

/** Identifies the call that a fragment belongs to, and holds its content. */
interface Fragment {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly fragment: string;
}

/** Collects the tool calls of one answer. */
export class ToolCalls {
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();

  /**
   * `toCallerName` restores the tool name that was changed for the upstream; `newId` creates ids for upstreams that send none; `onRest` receives
   * what a fragment carried alongside its meaning, once its call has begun.
   */
  constructor(
    private readonly writer: BlockWriter,
    private readonly toCallerName: (name: string) => string,
    private readonly newId: () => string,
    private readonly onRest?: (entry: Record<string, unknown>) => void,
  ) {}

  /** Adds one entry of `delta.tool_calls`. */
  push(entry: unknown): void {
    if (!isObject(entry)) throw malformed('a tool call that is not an object');
    const isCustom = entry['type'] === 'custom' || isObject(entry['custom']);
    const fn = entry[isCustom ? 'custom' : 'function'] ?? {};
    if (!isObject(fn)) throw malformed('a tool call whose function is not an object');
    const id = optionalTextField(entry, 'id');
    const name = optionalTextField(fn, 'name');
    const fragment = argumentsText(fn[isCustom ? 'input' : 'arguments']);
    const call = this.#find({ index: numberOf(entry['index']), id, name, fragment });
    if (call.sentId === '' && id !== '') this.#name(call, id);
    // Some upstreams (vLLM) repeat the name in every fragment; it is read once and never joined.
    if (call.name === '') call.name = name;
    call.isCustom ||= isCustom;
    this.#append(call, fragment);
    this.#keepRest(call, entry, fn);
    this.#advance();
  }

  /** Reports whether arguments have begun and are not complete, so that ending their block would lose what follows. */
  get hasOpenArguments(): boolean {
    return this.#calls.some((call) => call.state !== 'closed' && call.hasArguments && !call.isCustom && !call.boundary.isComplete);
  }

  /** Writes everything that waits and ends every block, because no more calls follow or because text does. */
  finish(): void {
    for (const call of this.#calls) {
      if (call.state === 'closed') continue;
      if (call.state === 'waiting') this.#open(call);
      this.#close(call);
    }
  }

  #find(fragment: Fragment): Call {
    const call = this.#candidate(fragment);
    return call === undefined || isNewCall(call, fragment) ? this.#add(fragment.index) : call;
  }

  /** Returns the call that the id or the index refers to; without either, the last one. */
  #candidate({ index, id, name }: Fragment): Call | undefined {
    const atIndex = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index);
    if (id === '' || atIndex?.sentId === id) return atIndex;
    const known = this.#calls.find((call) => call.sentId === id);
    // The same index with another id is another call: some proxies number all calls 0.
    if (known === undefined) return atIndex?.sentId === '' ? atIndex : undefined;
    // Another index with the same id is another call too if it has its own name: some servers restart their ids for each call.
    const isOther = index !== undefined && known.index !== undefined && atIndex === undefined && name !== '';
    return isOther ? undefined : known;
  }

  #add(index: number | undefined): Call {
    const position = this.#calls.length;
    if (position >= toolCallsMax) throw malformed(`more than ${toolCallsMax} tool calls`);
    const call: Call = {
      position,
      index,
      sentId: '',
      id: '',
      name: '',
      isCustom: false,
      waiting: [],
      rests: [],
      boundary: new JsonBoundary(),
      hasArguments: false,
      state: 'waiting',
    };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #name(call: Call, id: string): void {
    call.id = this.#calls.some((other) => other.id === id) ? this.newId() : id;
    call.sentId = id;
  }

  #append(call: Call, fragment: string): void {
    if (fragment === '') return;
    if (call.state === 'closed') {
      if (fragment.trim() === '') return;
      throw malformed('more arguments for a tool call that was complete');
    }
    call.hasArguments = true;
    // Nothing shows where free text is complete; it ends with the answer, or with the text after it.
    if (!call.isCustom) call.boundary.push(fragment);
    if (call.state === 'open') this.writer.delta({ $case: 'argumentsJson', value: fragment });
    else call.waiting.push(fragment);
  }

  #keepRest(call: Call, entry: JsonObject, fn: JsonObject): void {
    if (this.onRest === undefined) return;
    const left = toolCallLeft(entry, fn);
    if (left === undefined) return;
    const rest = { index: call.position, ...left };
    if (call.state === 'waiting') call.rests.push(rest);
    else this.onRest(rest);
  }

  /** Ends an open call that others wait for once its arguments are complete, and opens the next. */
  #advance(): void {
    for (const [position, call] of this.#calls.entries()) {
      if (call.state === 'closed') continue;
      if (call.state === 'waiting' && (call.id === '' || call.name === '')) return;
      if (call.state === 'waiting') this.#open(call);
      const othersWait = position + 1 < this.#calls.length;
      if (!othersWait || !call.boundary.isComplete) return;
      this.#close(call);
    }
  }

  #open(call: Call): void {
    if (call.name === '') throw malformed('a tool call without a name');
    if (call.id === '') call.id = this.newId();
    this.writer.open({
      $case: 'toolCall',
      value: { id: call.id, name: this.toCallerName(call.name), ...(call.isCustom ? { isCustom: true } : {}) },
    });
    call.state = 'open';
    for (const fragment of call.waiting.splice(0)) this.writer.delta({ $case: 'argumentsJson', value: fragment });
    for (const rest of call.rests.splice(0)) this.onRest?.(rest);
  }

  #close(call: Call): void {
    if (!call.hasArguments && !call.isCustom) this.writer.delta({ $case: 'argumentsJson', value: '{}' });
    this.writer.close();
    call.state = 'closed';
  }
}

/** Reports whether a fragment for a call that is complete begins another one: nothing can follow complete arguments. */
function isNewCall(call: Call, { index, id, name, fragment }: Fragment): boolean {
  if (name === '' || call.name === '' || !call.boundary.isComplete) return false;
  return (index === undefined && id === '') || name !== call.name || fragment.trim() !== '';
}

/** Returns the index as a number: some proxies write numbers as text. */
function numberOf(index: unknown): number | undefined {
  if (typeof index === 'number') return index;
  return typeof index === 'string' && /^\d{1,4}$/.test(index) ? Number(index) : undefined;
}

/** Returns the arguments as text: some upstreams (Ollama) send them as an object. */
function argumentsText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (isObject(value)) return JSON.stringify(value);
  throw malformed('tool arguments that are neither text nor an object');
}
