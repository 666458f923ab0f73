// Decodes a messages stream into canonical events. Pure.
import type { Event } from '#proto/inference/v1/inference.js';
import type { UsageReport } from '../../tokens/usage-report.js';
import { BlockWriter } from '../answers/block-writer.js';
import type { AnswerHead } from '../http/wire.js';
import { isText, PayloadParser, type Repeated } from '../answers/payload-parser.js';
import { merged, withoutAccount } from '../answers/rest.js';
import {
  brokenOff,
  isObject,
  type JsonObject,
  malformed,
  optionalTextField,
  type Outcome,
  type StreamDecoder,
} from '../answers/stream-decoder.js';
import { eventError } from './error.js';
import { blockRest, blockStopRest, deltaRest, endRest, envelopeRest, startedRest, stopRest } from './rest.js';
import { isCommonStopReason, stopReasonOf } from './stop-reason.js';
import { MergedUsage } from './usage.js';

/** Holds the upstream's open block: one that we relay, or one without a common form that the caller could not read. */
interface OpenBlock {
  readonly upstreamIndex: unknown;
  readonly isRelayed: boolean;
  /** Arguments sent whole at the block's start; used if no fragments follow. */
  readonly initialArguments: string;
  hasArguments: boolean;
}

/** Decodes one answer. */
export class MessagesDecoder implements StreamDecoder {
  readonly #payloads = new PayloadParser();
  readonly #writer: BlockWriter;
  readonly #usage = new MergedUsage();
  #open: OpenBlock | undefined;
  #hasStarted = false;
  #outcome: { label: string; stopSequence: string } | undefined;
  #hasFinalUsage = false;
  #endRest: JsonObject | undefined;
  /** The event whose repetitions write a piece of text to the open block and do nothing else. */
  #plain: JsonObject | undefined;
  outcome: Outcome | undefined;

  /** If the head has no request id, the message's own id is used. */
  constructor(private readonly options: AnswerHead) {
    this.#writer = new BlockWriter(options.target, options.droppedFields, options.customTools, options.earlierCallIds);
  }

  get hasAllContent(): boolean {
    return this.#outcome !== undefined;
  }

  get isReportFinal(): boolean {
    return this.outcome !== undefined || this.#hasFinalUsage;
  }

  get report(): UsageReport {
    return this.#usage.report;
  }

  push(data: string): Event[] {
    // Some resellers end the stream with the marker of chat-completions.
    if (this.outcome !== undefined || data.trim() === '' || data.trim() === '[DONE]') return [];
    const event = this.#payloads.parse(data);
    const { repeated } = this.#payloads;
    if (repeated !== undefined && repeated.text !== '' && event === this.#plain) {
      this.#writer.delta({ $case: 'text', value: repeated.text });
      return this.#writer.take();
    }
    const events = this.#read(event, data);
    const isPlain = repeated !== undefined && isDelta(event['delta'], repeated) && isText(events, repeated.text);
    this.#plain = isPlain ? event : undefined;
    return events;
  }

  #read(event: JsonObject, data: string): Event[] {
    switch (event['type']) {
      case 'message_start':
        this.#messageStart(event['message'], this.#besideOf(event));
        break;
      case 'content_block_start':
        this.#blockStart(event['index'], event['content_block'], this.#besideOf(event));
        break;
      case 'content_block_delta':
        this.#blockDelta(event['index'], event['delta'], this.#besideOf(event));
        break;
      case 'content_block_stop':
        this.#blockStop(event);
        break;
      case 'message_delta':
        this.#messageDelta(event);
        break;
      case 'message_stop':
        if (this.options.isNative) this.#endRest = merged(this.#endRest, stopRest(event));
        return this.#done();
      case 'message':
        this.#wholeMessage(event);
        break;
      case 'error':
        throw eventError(event['error'], this.options.target.upstreamModel);
      case 'ping':
        break;
      default:
        this.#other(event, data);
    }
    return this.#writer.take();
  }

  end(): Event[] {
    if (this.outcome !== undefined) return [];
    // After message_delta only the last marker is missing.
    if (!this.hasAllContent) throw brokenOff();
    return this.#done();
  }

  #besideOf(event: JsonObject): string | undefined {
    return this.options.isNative ? envelopeRest(event) : undefined;
  }

  #messageStart(message: unknown, beside?: string): void {
    if (!isObject(message)) throw malformed('a message_start without a message');
    this.#usage.mergeStart(message['usage']);
    this.#start(optionalTextField(message, 'id'), optionalTextField(message, 'model'), message, beside);
  }

  #start(messageId: string, model: string, message?: JsonObject, beside?: string): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#writer.start(this.options.requestId || messageId, model);
    const rest = message === undefined || !this.options.isNative ? undefined : startedRest(message);
    if (rest !== undefined) this.#writer.attach(rest);
    if (beside !== undefined) this.#writer.attachBeside(beside);
  }

  #blockStart(index: unknown, block: unknown, beside?: string): void {
    if (!isObject(block)) throw malformed('a content_block_start without a block');
    this.#start('', '');
    this.#blockStop();
    const input = block['input'];
    const initialArguments =
      typeof input === 'string' ? input : isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
    this.#open = { upstreamIndex: index, isRelayed: this.#openBlock(block, beside), initialArguments, hasArguments: false };
  }

  /** Opens the canonical block. Returns false if there is none for this type (a server tool, for example) that the caller could read. */
  #openBlock(block: JsonObject, beside: string | undefined): boolean {
    const writer = this.#writer;
    switch (block['type']) {
      case 'text':
        writer.open({ $case: 'text', value: {} });
        this.#attachRest(block, beside);
        writer.delta({ $case: 'text', value: optionalTextField(block, 'text') });
        return true;
      case 'thinking':
        writer.open({ $case: 'reasoning', value: { redactedData: '' } });
        this.#attachRest(block, beside);
        writer.delta({ $case: 'text', value: optionalTextField(block, 'thinking') });
        writer.delta({ $case: 'signature', value: optionalTextField(block, 'signature') });
        return true;
      case 'redacted_thinking':
        writer.open({ $case: 'reasoning', value: { redactedData: optionalTextField(block, 'data') } });
        this.#attachRest(block, beside);
        return true;
      case 'tool_use': {
        const [id, name] = [optionalTextField(block, 'id'), optionalTextField(block, 'name')];
        if (id === '' || name === '') throw malformed('a tool_use block without an id or a name');
        writer.open({ $case: 'toolCall', value: { id, name } });
        this.#attachRest(block, beside);
        return true;
      }
      default:
        if (block['type'] === 'server_tool_use' && block['name'] === 'web_search') this.#usage.noteSearch();
        if (!this.options.isNative) return false;
        writer.open({ $case: 'foreign', value: { json: JSON.stringify(block) } });
        if (beside !== undefined) writer.attachBeside(beside);
        return true;
    }
  }

  #attachRest(block: JsonObject, beside: string | undefined): void {
    const rest = this.options.isNative ? blockRest(block) : undefined;
    if (rest !== undefined) this.#writer.attach(rest);
    if (beside !== undefined) this.#writer.attachBeside(beside);
  }

  #blockDelta(index: unknown, delta: unknown, beside: string | undefined): void {
    if (!isObject(delta)) throw malformed('a content_block_delta without a delta');
    if (this.#open === undefined || this.#open.upstreamIndex !== index) throw malformed('a delta for a block that is not open');
    if (!this.#open.isRelayed) return;
    switch (delta['type']) {
      case 'text_delta':
        return this.#write('text', 'text', delta, 'text', beside);
      case 'thinking_delta':
        return this.#write('reasoning', 'text', delta, 'thinking', beside);
      case 'signature_delta':
        return this.#write('reasoning', 'signature', delta, 'signature', beside);
      case 'input_json_delta':
        this.#open.hasArguments ||= optionalTextField(delta, 'partial_json') !== '';
        return this.#write('toolCall', 'argumentsJson', delta, 'partial_json', beside);
      default:
        // Citations, and types that the vendor may add.
        if (this.options.isNative) this.#writeForeign(delta, beside);
    }
  }

  /** Writes a delta of a known type, whose text is in `field`. */
  #write(
    kind: BlockWriter['openKind'],
    as: 'text' | 'signature' | 'argumentsJson',
    delta: JsonObject,
    field: string,
    beside: string | undefined,
  ): void {
    const { openKind } = this.#writer;
    // The input of a server tool arrives in the same fragments as that of a client tool.
    if (openKind === 'foreign' && as !== 'argumentsJson') return this.#writeForeign(delta, beside);
    if (openKind !== kind && openKind !== 'foreign') throw malformed('a delta that does not belong to its block');
    const rest = this.options.isNative ? deltaRest(delta, delta['type'] as string) : undefined;
    // A delta with something alongside it is written even if it is empty.
    this.#writer.delta({ $case: as, value: optionalTextField(delta, field) }, rest ?? (beside === undefined ? undefined : '{}'));
    if (beside !== undefined) this.#writer.attachBeside(beside);
  }

  #writeForeign(delta: JsonObject, beside: string | undefined): void {
    this.#writer.delta({ $case: 'foreignJson', value: JSON.stringify(delta) });
    if (beside !== undefined) this.#writer.attachBeside(beside);
  }

  /** Ends the open block, if any; `event` is absent if the upstream did not end it itself. */
  #blockStop(event?: JsonObject): void {
    if (this.#open === undefined) return;
    if (this.#open.isRelayed) {
      if (this.#writer.openKind === 'toolCall' && !this.#open.hasArguments) {
        this.#writer.delta({ $case: 'argumentsJson', value: this.#open.initialArguments || '{}' });
      }
      this.#writer.close();
      const rest = event === undefined || !this.options.isNative ? undefined : blockStopRest(event);
      if (rest !== undefined) this.#writer.attach(rest);
    }
    this.#open = undefined;
  }

  #messageDelta(event: JsonObject): void {
    this.#usage.mergeDelta(event['usage']);
    const delta = isObject(event['delta']) ? event['delta'] : {};
    const label = optionalTextField(delta, 'stop_reason');
    if (this.options.isNative) this.#endRest = merged(this.#endRest, endRest(event, isCommonStopReason(label, this.#writer.written)));
    // Usage alone may come early and more than once; only a stop reason shows that the answer is complete.
    if (label !== '') this.#outcome = { label, stopSequence: optionalTextField(delta, 'stop_sequence') };
    this.#hasFinalUsage ||= this.#outcome !== undefined && isObject(event['usage']) && Number(event['usage']['output_tokens']) > 0;
  }

  /**
   * Decodes the body of a server that does not stream, as a stream whose blocks are sent whole at their start. MiniMax ends a stream with it too, as
   * a repetition.
   */
  #wholeMessage(message: JsonObject): void {
    // A stream sends what belongs to the stop reason with it.
    const details = message['stop_details'] ?? undefined;
    this.#messageStart(details === undefined ? message : { ...message, stop_details: null });
    const isRepetition = this.#writer.written.size > 0;
    const content: readonly unknown[] = Array.isArray(message['content']) && !isRepetition ? message['content'] : [];
    for (const [index, block] of content.entries()) this.#blockStart(index, block);
    this.#messageDelta({
      delta: {
        stop_reason: message['stop_reason'] ?? this.#outcome?.label ?? 'end_turn',
        stop_sequence: message['stop_sequence'] ?? this.#outcome?.stopSequence,
        stop_details: details,
      },
      usage: message['usage'],
    });
  }

  /** Handles an event without a common form: a type that the vendor may add, or an error in the form of chat-completions. */
  #other(event: JsonObject, data: string): void {
    if (event['type'] === undefined && event['error']) throw eventError(event['error'], this.options.target.upstreamModel);
    if (!this.options.isNative || typeof event['type'] !== 'string') return;
    this.#start('', '');
    const shown = withoutAccount(event);
    if (shown === undefined) return;
    this.#writer.foreign({ json: shown === event ? data : JSON.stringify(shown), countedText: '', isEnd: false });
  }

  #done(): Event[] {
    // A message_stop shows that the answer is complete, even without the message_delta that some resellers leave out; without an answer it shows nothing.
    if (this.#outcome === undefined && !this.#hasStarted) throw brokenOff();
    this.#start('', '');
    this.#blockStop();
    const { label, stopSequence } = this.#outcome ?? { label: '', stopSequence: '' };
    const extraJson = this.#endRest === undefined ? {} : { extraJson: JSON.stringify(this.#endRest) };
    this.outcome = { stopReason: stopReasonOf(label, this.#writer.written), stopSequence, ...extraJson };
    return this.#writer.take();
  }
}

/** Reports whether the text of a delta of a known type is the one that is repeated. */
function isDelta(delta: unknown, { holder, field }: Repeated): boolean {
  return holder === delta && (holder['type'] === 'thinking_delta' ? 'thinking' : 'text') === field;
}
