// Puts together the tool calls of a chat-completions stream, whose fragments may come interleaved, without an index, or with the
// id or name late. Written as one block after another: a call streams while it is the only one open, later ones wait for its end.
import type { BlockWriter } from '../block-writer.js';
import { JsonBoundary } from '../json-boundary.js';
import { isObject, malformed, optionalTextField } from '../stream-decoder.js';

/** Most tool calls in one answer. */
export const toolCallsMax = 512;

interface Call {
  id: string;
  name: string;
  /** Fragments that wait until the block may be written. */
  readonly waiting: string[];
  readonly boundary: JsonBoundary;
  hasArguments: boolean;
  state: 'waiting' | 'open' | 'closed';
}

/** The tool calls of one answer. */
export class ToolCalls {
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();

  /** `toCallerName` undoes what was done to the tool's name on the way out; `newId` makes ids for upstreams that send none. */
  constructor(
    private readonly writer: BlockWriter,
    private readonly toCallerName: (name: string) => string,
    private readonly newId: () => string,
  ) {}

  /** Takes one entry of `delta.tool_calls`. */
  push(entry: unknown): void {
    if (!isObject(entry)) throw malformed('a tool call that is not an object');
    const fn = entry['function'] ?? {};
    if (!isObject(fn)) throw malformed('a tool call whose function is not an object');
    const id = optionalTextField(entry, 'id');
    const name = optionalTextField(fn, 'name');
    const call = this.#find(entry['index'], id, name);
    if (call.id === '') call.id = id;
    // Some upstreams repeat the name on every fragment (vllm); it is taken once and never joined.
    if (call.name === '') call.name = name;
    this.#append(call, argumentsText(fn['arguments']));
    this.#advance();
  }

  /** Writes all that waits and ends every block: no call follows, or text does. */
  finish(): void {
    for (const call of this.#calls) {
      if (call.state === 'closed') continue;
      if (call.state === 'waiting') this.#open(call);
      this.#close(call);
    }
  }

  #find(index: unknown, id: string, name: string): Call {
    const known = id === '' ? undefined : this.#calls.find((call) => call.id === id);
    if (known !== undefined) return known;
    const atIndex = typeof index === 'number' ? this.#byIndex.get(index) : this.#calls.at(-1);
    // The same index with another id is another call: some proxies number all calls 0.
    if (atIndex !== undefined && (id === '' || atIndex.id === '')) {
      const isRepeat = typeof index !== 'number' && name !== '' && atIndex.name !== '' && atIndex.boundary.isComplete;
      if (!isRepeat) return atIndex;
    }
    if (this.#calls.length >= toolCallsMax) throw malformed(`more than ${toolCallsMax} tool calls`);
    const call: Call = { id: '', name: '', waiting: [], boundary: new JsonBoundary(), hasArguments: false, state: 'waiting' };
    this.#calls.push(call);
    if (typeof index === 'number') this.#byIndex.set(index, call);
    return call;
  }

  #append(call: Call, fragment: string): void {
    if (fragment === '') return;
    if (call.state === 'closed') {
      if (fragment.trim() === '') return;
      throw malformed('more arguments for a tool call that was complete');
    }
    call.hasArguments = true;
    call.boundary.push(fragment);
    if (call.state === 'open') this.writer.delta({ $case: 'argumentsJson', value: fragment });
    else call.waiting.push(fragment);
  }

  /** Ends an open call that others wait for, once its arguments are complete, and opens the next. */
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
    this.writer.open({ $case: 'toolCall', value: { id: call.id, name: this.toCallerName(call.name) } });
    call.state = 'open';
    for (const fragment of call.waiting.splice(0)) this.writer.delta({ $case: 'argumentsJson', value: fragment });
  }

  #close(call: Call): void {
    if (!call.hasArguments) this.writer.delta({ $case: 'argumentsJson', value: '{}' });
    this.writer.close();
    call.state = 'closed';
  }
}

/** Some upstreams (Ollama) send the arguments as an object instead of its text. */
function argumentsText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (isObject(value)) return JSON.stringify(value);
  throw malformed('tool arguments that are neither text nor an object');
}
