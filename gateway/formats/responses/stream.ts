// Events → the frames of a streamed responses answer: named events, numbered from 0.
import assert from 'node:assert/strict';

import { AppError } from '#client/errors/app-error.js';
import type { Event, Foreign } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { StoreFailure, StreamContext, StreamEncoder } from '../format.js';
import { type JsonObject, parseObject } from '../rest.js';
import { errorEvent, failureOf } from './error.js';
import { foreignTypeOf, Output, type OutputSink, type Place } from './output.js';
import { endedResponse, responseWith } from './response.js';

/** Encodes one streamed answer. */
export function streamResponse(context: StreamContext): StreamEncoder {
  return new ResponseStream(context);
}

/** Maximum number of foreign events that mark an end; vendors send one. */
const heldEndsMax = 128;

class ResponseStream implements StreamEncoder, OutputSink {
  readonly #output: Output;
  readonly #heldEnds: { readonly type: string; readonly fields: JsonObject }[] = [];
  #hasBegun = false;
  #sequence = 0;
  #frames = '';

  constructor(private readonly context: StreamContext) {
    this.#output = new Output(context, this);
  }

  push(events: readonly Event[]): string {
    for (const event of events) {
      if (!this.#hasBegun && event.event?.$case !== 'started') this.#begin();
      this.#output.add(event);
      if (!this.#hasBegun) this.#begin();
      if (event.event?.$case === 'foreign') this.#foreign(event.event.value);
    }
    return this.#take();
  }

  finish(usage: TokenCounts, storeFailure?: StoreFailure): string {
    assert(this.#output.finished !== undefined, 'a stream ends only after its finished event');
    for (const { type, fields } of this.#heldEnds) this.event(type, fields);
    const response = endedResponse(this.context, this.#output, usage, storeFailure);
    this.event(`response.${String(response['status'])}`, { response });
    return this.#take();
  }

  fail(error: AppError): string {
    if (!this.#hasBegun) this.#begin();
    const { requestId } = this.context;
    this.event('error', errorEvent(error, requestId));
    const state = { status: 'failed', store: false, error: failureOf(error), output: this.#output.items() };
    this.event('response.failed', { response: responseWith(this.context, this.#output.rest, state) });
    return this.#take();
  }

  event(type: string, fields: JsonObject): void {
    this.#frames += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })}\n\n`;
  }

  delta(type: string, place: Place, text: string, rest: JsonObject | undefined): void {
    // Written as text around the one value that needs escaping: there is one for every token.
    const others = rest === undefined ? '' : othersText(type, rest);
    const logprobs = rest === undefined && type === textDelta ? ',"logprobs":[]' : '';
    this.#frames += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},${place},"delta":${JSON.stringify(text)}${logprobs}${others}}\n\n`;
  }

  #begin(): void {
    this.#hasBegun = true;
    // It repeats the request, which may be long, so it is serialised once.
    const json = JSON.stringify(responseWith(this.context, this.#output.rest, { status: 'in_progress', output: [] }));
    for (const type of ['response.created', 'response.in_progress'])
      this.#frames += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},"response":${json}}\n\n`;
  }

  /** Writes an event that only this format has; one that marks an end is held until the end of the call. */
  #foreign({ json, isEnd }: Foreign): void {
    const { sequence_number: _theirs, ...fields } = parseObject(json);
    const type = foreignTypeOf(fields);
    if (type === undefined) return;
    if (!isEnd) return this.event(type, fields);
    if (this.#heldEnds.length >= heldEndsMax) throw new AppError('upstream_failed', 'The upstream ended its answer too often.');
    this.#heldEnds.push({ type, fields });
  }

  #take(): string {
    const frames = this.#frames;
    this.#frames = '';
    return frames;
  }
}

const textDelta = 'response.output_text.delta';

/** Returns the other fields of a delta as text to append to it. */
function othersText(type: string, rest: JsonObject): string {
  const fields = JSON.stringify(type === textDelta ? { logprobs: [], ...rest } : rest).slice(1, -1);
  return fields === '' ? '' : `,${fields}`;
}
