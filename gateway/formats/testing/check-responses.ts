// Checks a streamed responses answer, event by event: framing, schema, and the rules between events that clients rely on.
import { isObject, type JsonObject, objectIn } from '../rest.js';
import { schemaFaults } from './answer-schemas.js';
import type { AnswerKind } from './check-chat-completions.js';
import { eventFaults } from './sse-text.js';

/** Returns what is wrong with the text of a stream that has ended, one line each. An answer that broke off must end with an error event and response.failed. */
export function responseStreamFaults(text: string, kind: AnswerKind = {}): string[] {
  return eventFaults(text, (faults) => new StreamCheck(kind, faults));
}

/** Returns what is wrong with an answer beyond its schema. */
export function responseFaults(body: unknown, kind: AnswerKind = {}): string[] {
  const faults = schemaFaults('response', body, kind.native);
  const ids = (isObject(body) && Array.isArray(body['output']) ? body['output'] : []).map((item) => (item as JsonObject)['id']);
  if (new Set(ids).size < ids.length) faults.push('two items have the same id');
  return faults;
}

interface Item {
  readonly id: unknown;
  readonly type: string;
  isDone: boolean;
  done: unknown;
  /** The text of each part, of the arguments or of the input, by the path of its events. */
  readonly texts: Map<string, { text: string; isDone: boolean }>;
}

/** For each kind of text: its delta, its end, and the field of that with the whole text. */
const texts: Readonly<Record<string, readonly [of: string, field: string]>> = {
  'response.output_text': ['message', 'text'],
  'response.refusal': ['message', 'refusal'],
  'response.reasoning_summary_text': ['reasoning', 'text'],
  'response.reasoning_text': ['reasoning', 'text'],
  'response.function_call_arguments': ['function_call', 'arguments'],
  'response.custom_tool_call_input': ['custom_tool_call', 'input'],
};
const ownItems = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);
const ends = new Set(['response.completed', 'response.incomplete', 'response.failed']);

class StreamCheck {
  #state: 'new' | 'created' | 'open' | 'broken' | 'ended' = 'new';
  #sequence = 0;
  #id: unknown;
  readonly #items: Item[] = [];

  constructor(
    private readonly kind: AnswerKind,
    private readonly faults: string[],
  ) {}

  take(event: JsonObject): void {
    const type = String(event['type']);
    const { native } = this.kind;
    this.faults.push(
      ...schemaFaults('response-stream-event', event, native).map((fault) => `${fault} in ${JSON.stringify(event).slice(0, 300)}`),
    );
    if (event['sequence_number'] !== this.#sequence)
      this.faults.push(`${type} has the number ${String(event['sequence_number'])}, not ${this.#sequence}`);
    this.#sequence += 1;
    if (this.#state === 'ended') this.faults.push(`${type} follows the end`);
    if (this.#state === 'broken' && type !== 'response.failed') this.faults.push(`${type} follows the error`);
    if (type === 'response.created') return this.#created(event);
    if (this.#state === 'new' && type !== 'error') this.faults.push(`${type} comes before response.created`);
    if (type === 'response.in_progress') this.#state = 'open';
    else if (type === 'error') this.#state = 'broken';
    else if (ends.has(type)) this.#end(type, objectIn(event, 'response'));
    else if (type === 'response.output_item.added') this.#add(event);
    else if (type === 'response.output_item.done') this.#done(event);
    else if (event['item_id'] !== undefined) this.#within(type, event);
  }

  end(): void {
    if (this.#state !== 'ended' && !(this.#state === 'broken' && this.#sequence === 1))
      this.faults.push('the stream ends without the whole response');
  }

  #created(event: JsonObject): void {
    if (this.#state !== 'new') this.faults.push('response.created comes twice');
    this.#state = 'created';
    this.#id = objectIn(event, 'response')['id'];
  }

  #add(event: JsonObject): void {
    const item = objectIn(event, 'item');
    const type = String(item['type']);
    if (event['output_index'] !== this.#items.length)
      this.faults.push(`item ${String(event['output_index'])} is the ${this.#items.length + 1}th`);
    if (this.kind.native !== true && !ownItems.has(type))
      this.faults.push(`an item of type ${type} comes from an upstream of another format`);
    this.#items.push({ id: item['id'], type, isDone: false, done: undefined, texts: new Map() });
  }

  #within(type: string, event: JsonObject): void {
    const item = this.#items[Number(event['output_index'])];
    if (item === undefined || item.isDone || item.id !== event['item_id'])
      return void this.faults.push(`${type} is about the item ${String(event['item_id'])}, which is not open at that index`);
    const [name, step] = [type.slice(0, type.lastIndexOf('.')), type.slice(type.lastIndexOf('.') + 1)];
    const known = texts[name];
    if (known === undefined) return;
    const [of, field] = known;
    if (item.type !== of) this.faults.push(`${type} is about an item of type ${item.type}`);
    const key = `${name} ${String(event['content_index'] ?? event['summary_index'] ?? '')}`;
    const arrived = item.texts.get(key) ?? { text: '', isDone: false };
    item.texts.set(key, arrived);
    if (arrived.isDone) this.faults.push(`${type} follows the end of its text`);
    if (step === 'delta') arrived.text += String(event['delta']);
    else {
      arrived.isDone = true;
      if (arrived.text !== event[field]) this.faults.push(`${type} has a different text than its deltas`);
    }
  }

  #done(event: JsonObject): void {
    const item = this.#items[Number(event['output_index'])];
    const whole = objectIn(event, 'item');
    if (item === undefined || item.isDone || item.id !== whole['id'])
      return void this.faults.push(`${String(whole['id'])} is done but not open`);
    item.isDone = true;
    item.done = whole;
    for (const [key, arrived] of item.texts) if (!arrived.isDone) this.faults.push(`${key} of item ${String(item.id)} has no end`);
  }

  #end(type: string, response: JsonObject): void {
    this.#state = 'ended';
    if (response['id'] !== this.#id) this.faults.push('the response has another id than at its start');
    if (type === 'response.failed') return;
    if (this.#items.some((item) => !item.isDone)) this.faults.push('the response ends while an item is open');
    const items = this.#items.map((item) => item.done);
    if (JSON.stringify(items) !== JSON.stringify(response['output'])) this.faults.push('the response has other items than were streamed');
  }
}
