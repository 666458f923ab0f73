// Decodes a responses answer into canonical events: a stream's events, or the one body of an answer that is not streamed. Pure.
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { noReport, type UsageReport } from '../../tokens/usage-report.js';
import { BlockWriter } from '../answers/block-writer.js';
import { mergeReports } from '../chat-completions/usage.js';
import type { AnswerHead } from '../http/wire.js';
import { isText, PayloadParser } from '../answers/payload-parser.js';
import { withoutAccount } from '../answers/rest.js';
import {
  brokenOff,
  isObject,
  type JsonObject,
  malformed,
  optionalTextField,
  type Outcome,
  parsePayload,
  type StreamDecoder,
  textOrEmpty,
} from '../answers/stream-decoder.js';
import { eventError, responseFailure } from './error.js';
import { itemTypeOf, ItemWriter, type ItemWriterOptions } from './item-writer.js';
import { type Item, Items } from './items.js';
import { responseRest, usageRest } from './rest.js';
import { readUsage } from './usage.js';

/** Decodes one answer. */
export class ResponsesDecoder implements StreamDecoder {
  readonly #payloads = new PayloadParser();
  readonly #writer: BlockWriter;
  readonly #itemWriter: ItemWriter;
  readonly #items = new Items();
  /** The response as the first events describe it. */
  #head: JsonObject = {};
  #startedRest: JsonObject | undefined;
  #hasStarted = false;
  /** The event whose repetitions write a piece of text to the current item and do nothing else. */
  #plain: JsonObject | undefined;
  outcome: Outcome | undefined;
  // Only the last event shows that the answer is complete.
  readonly hasAllContent = false;
  isReportFinal = false;
  report: UsageReport = noReport;

  constructor(private readonly options: AnswerHead & ItemWriterOptions & { readonly runsTools?: boolean }) {
    this.#writer = new BlockWriter(options.target, options.droppedFields, undefined, options.earlierCallIds);
    this.#itemWriter = new ItemWriter(this.#writer, options);
  }

  push(data: string): Event[] {
    const text = data.trim();
    if (this.outcome !== undefined || text === '') return [];
    // The vendor has no such marker, but resellers do; it does not show that the answer is complete.
    if (text === '[DONE]') return this.end();
    const event = this.#payloads.parse(text);
    const { repeated } = this.#payloads;
    if (repeated !== undefined && repeated.text !== '' && event === this.#plain) {
      this.#itemWriter.append(this.#items.current!, repeated.text);
      return this.#writer.take();
    }
    const events = this.#read(event, text);
    const isPlain = repeated !== undefined && repeated.holder === event && repeated.field === 'delta' && isText(events, repeated.text);
    this.#plain = isPlain ? event : undefined;
    return events;
  }

  #read(event: JsonObject, text: string): Event[] {
    const type = optionalTextField(event, 'type');
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        // Nothing is generated yet: if the response fails after this, another target can be tried.
        if (isObject(event['response'])) this.#head = { ...event['response'] };
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.#finish(event['response']);
      case 'error':
        throw eventError(event, this.options.target.upstreamModel);
      case 'response.output_item.added':
        this.#added(event);
        break;
      case '':
        return this.#untyped(event);
      default:
        this.#itemEvent(event, type, text);
    }
    this.#advance();
    return this.#writer.take();
  }

  end(): Event[] {
    if (this.outcome !== undefined) return [];
    throw brokenOff();
  }

  /** Decodes the body of an answer that is not streamed, or an error in place of an event. */
  #untyped(body: JsonObject): Event[] {
    if (body['object'] === 'response') return this.#finish(body);
    throw body['error'] || body['message'] || body['detail']
      ? eventError(body, this.options.target.upstreamModel)
      : malformed('a payload without a type');
  }

  #start(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#writer.start(this.options.requestId || textOrEmpty(this.#head['id']), textOrEmpty(this.#head['model']));
    this.#startedRest = this.options.isNative ? responseRest(this.#head) : undefined;
    if (this.#startedRest !== undefined) this.#writer.attach(JSON.stringify(this.#startedRest));
  }

  #added(event: JsonObject): void {
    const { item, output_index: index } = event;
    if (!isObject(item)) throw malformed('an output item that is not an object');
    const id = optionalTextField(item, 'id');
    const known = this.#items.find(index, id);
    // Some servers announce an item again once they know more of it.
    if (known === undefined || known.hasEnded || known.id !== id || id === '') this.#items.add(structuredClone(item), index);
  }

  #itemEvent(event: JsonObject, type: string, data: string): void {
    const [index, id] = [event['output_index'], optionalTextField(event, 'item_id')];
    const item = this.#items.find(index, id) ?? this.#unannounced(event, type, id);
    if (item === undefined) return this.#foreign(event, type);
    if (item === this.#items.current && item.hasBegun) this.#write(item, event, type);
    else if (!item.hasEnded) item.waiting.push(data);
    else if (type.endsWith('.delta') && event['delta'] !== '') throw malformed('more of an output item that was complete');
  }

  /** Adds the item of an event that has it or shows its type: some servers do not announce their items. */
  #unannounced({ item, output_index: index }: JsonObject, eventType: string, id: string): Item | undefined {
    if (eventType === 'response.output_item.done' && isObject(item)) return this.#items.add(structuredClone(item), index);
    const type = itemTypeOf(eventType);
    return type === undefined ? undefined : this.#items.add({ type, id }, index);
  }

  #write(item: Item, event: JsonObject, type: string): void {
    if (item.hasEnded) return;
    if (type === 'response.output_item.done') this.#end(item, event['item']);
    else this.#itemWriter.write(item, type, event);
  }

  #end(item: Item, whole: unknown): void {
    const ended = isObject(whole) ? whole : item.added;
    if (isSearch(ended)) this.report = { ...this.report, searches: Number(this.report.searches ?? 0) + 1 };
    this.#itemWriter.end(item, ended);
    this.#items.endCurrent();
  }

  /** Begins the item whose turn it is, and writes what has waited for it. */
  #advance(): void {
    for (let item = this.#items.current; item !== undefined && !item.hasBegun; item = this.#items.current) {
      item.hasBegun = true;
      this.#start();
      this.#itemWriter.begin(item);
      for (const data of item.waiting.splice(0)) {
        const event = parsePayload(data);
        this.#write(item, event, optionalTextField(event, 'type'));
      }
    }
  }

  /** Passes on an event of the format without a common form. All other events are about the connection or the account: keepalive, rate limits. */
  #foreign(event: JsonObject, type: string): void {
    if (!this.options.isNative || !type.startsWith('response.')) return;
    const shown = withoutAccount(event);
    if (shown === undefined) return;
    this.#start();
    this.#writer.foreign({ json: JSON.stringify(shown), countedText: '', isEnd: false });
  }

  #finish(response: unknown): Event[] {
    if (!isObject(response)) throw malformed('an end without a response');
    this.isReportFinal = true;
    const { status, usage, output } = response;
    if (usage !== undefined && usage !== null) this.report = mergeReports(this.report, readUsage(usage, this.options.runsTools));
    if (status === 'failed' || status === 'cancelled' || isObject(response['error']))
      throw responseFailure(response, this.options.target.upstreamModel);
    if (status === 'in_progress' || status === 'queued') throw malformed(`a response that ends with the status "${status}"`);
    if (!this.#hasStarted) this.#head = { ...this.#head, ...response };
    this.#start();
    this.#endItems(Array.isArray(output) ? output.filter(isObject) : []);
    this.outcome = this.#outcomeOf(response);
    return this.#writer.take();
  }

  /** Ends the items that the stream did not end, and writes what was not in the stream: everything if the answer was not streamed. */
  #endItems(output: readonly JsonObject[]): void {
    const isWhole = this.#items.isEmpty;
    for (let item = this.#items.current; item !== undefined; item = this.#items.current) {
      this.#advance();
      const { id, index, type } = item;
      const atIndex = typeof index === 'number' && output[index]?.['type'] === type ? output[index] : undefined;
      if (!item.hasEnded) this.#end(item, (id === '' ? undefined : output.find((whole) => whole['id'] === id)) ?? atIndex);
    }
    for (const whole of output) {
      const callId = whole['call_id'];
      if (!isWhole && (typeof callId !== 'string' || callId === '' || this.#itemWriter.hasCall(callId))) continue;
      const item = this.#items.add(whole, undefined);
      this.#advance();
      this.#end(item, whole);
    }
  }

  #outcomeOf(response: JsonObject): Outcome {
    const details = isObject(response['incomplete_details']) ? response['incomplete_details'] : {};
    const label = optionalTextField(details, 'reason');
    const extraJson = this.options.isNative ? this.#endRest(response, details, label) : undefined;
    return { stopReason: stopReasonOf(label, this.#writer.written), stopSequence: '', ...(extraJson === undefined ? {} : { extraJson }) };
  }

  /** Returns what came with the end alongside its meaning and what the start had; undefined if nothing did. */
  #endRest(response: JsonObject, details: JsonObject, label: string): string | undefined {
    const { reason: _reason, ...more } = details;
    const known = this.#startedRest ?? {};
    const fields = Object.entries(responseRest(response) ?? {}).filter(
      ([name, value]) => JSON.stringify(known[name]) !== JSON.stringify(value),
    );
    const rest = {
      ...(fields.length === 0 ? {} : { response: Object.fromEntries(fields) }),
      ...(response['usage'] === undefined ? {} : { usage: usageRest(response['usage']) }),
      ...(label in commonReasons || label === ''
        ? Object.keys(more).length === 0
          ? {}
          : { incomplete_details: more }
        : { incomplete_details: details }),
    };
    const json = JSON.stringify(rest);
    return json === '{}' ? undefined : json;
  }
}

/** The reasons for an incomplete response that have a common form. */
const commonReasons: Readonly<Record<string, StopReason>> = Object.assign(Object.create(null) as object, {
  max_output_tokens: StopReason.STOP_REASON_MAX_TOKENS,
  content_filter: StopReason.STOP_REASON_REFUSAL,
});

/** Returns the stop reason, by the reason first and by content second. */
function stopReasonOf(label: string, written: ReadonlySet<string>): StopReason {
  const known = commonReasons[label];
  if (known !== undefined) return known;
  if (written.has('toolCall')) return StopReason.STOP_REASON_TOOL_CALLS;
  return written.has('refusal') ? StopReason.STOP_REASON_REFUSAL : StopReason.STOP_REASON_END;
}

/** Reports whether the vendor charges for this item as a search: opening a page that it found is part of the search, and a failed search is free. */
function isSearch({ type, status, action }: JsonObject): boolean {
  const kind = isObject(action) ? action['type'] : undefined;
  return type === 'web_search_call' && status !== 'failed' && (kind === undefined || kind === 'search');
}
