// Decodes a messages stream into canonical events. Pure.
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { UsageReport } from '../../tokens/usage-report.js';
import { BlockWriter } from '../block-writer.js';
import type { AnswerHead } from '../http/wire.js';
import { brokenOff, isObject, type JsonObject, malformed, optionalTextField, type Outcome, parsePayload, type StreamDecoder } from '../stream-decoder.js';
import { eventError } from './error.js';
import { MergedUsage } from './usage.js';

/** The upstream's block that is open: one that we relay, or one that has no canonical form and is passed over. */
interface OpenBlock {
  readonly upstreamIndex: unknown;
  readonly isRelayed: boolean;
  /** Arguments given whole at the block's start; used when no fragments follow. */
  readonly initialArguments: string;
  hasArguments: boolean;
}

/** A decoder for one answer. */
export class MessagesDecoder implements StreamDecoder {
  readonly #writer: BlockWriter;
  readonly #usage = new MergedUsage();
  #open: OpenBlock | undefined;
  #ending: { label: string; stopSequence: string } | undefined;
  outcome: Outcome | undefined;

  /** Where the head has no request id, the message's own serves. */
  constructor(private readonly options: AnswerHead) {
    this.#writer = new BlockWriter(options.target, options.droppedFields);
  }

  get report(): UsageReport {
    return this.#usage.report;
  }

  push(data: string): Event[] {
    // Some resellers end with the other format's marker.
    if (this.outcome !== undefined || data.trim() === '' || data.trim() === '[DONE]') return [];
    const event = parsePayload(data);
    switch (event['type']) {
      case 'message_start':
        this.#messageStart(event['message']);
        break;
      case 'content_block_start':
        this.#blockStart(event['index'], event['content_block']);
        break;
      case 'content_block_delta':
        this.#blockDelta(event['index'], event['delta']);
        break;
      case 'content_block_stop':
        this.#blockStop();
        break;
      case 'message_delta':
        this.#messageDelta(event);
        break;
      case 'message_stop':
        return this.#done();
      case 'error':
        throw eventError(event['error']);
      default:
      // Pings, and whatever the vendor adds one day.
    }
    return this.#writer.take();
  }

  end(): Event[] {
    if (this.outcome !== undefined) return [];
    // After message_delta nothing is missing but the last marker.
    if (this.#ending === undefined) throw brokenOff();
    return this.#done();
  }

  #messageStart(message: unknown): void {
    if (!isObject(message)) throw malformed('a message_start without a message');
    this.#usage.mergeStart(message['usage']);
    this.#writer.start(this.options.requestId || optionalTextField(message, 'id'), optionalTextField(message, 'model'));
  }

  #blockStart(index: unknown, block: unknown): void {
    if (!isObject(block)) throw malformed('a content_block_start without a block');
    this.#writer.start(this.options.requestId, '');
    this.#blockStop();
    const input = block['input'];
    const initialArguments = isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
    this.#open = { upstreamIndex: index, isRelayed: this.#openBlock(block), initialArguments, hasArguments: false };
  }

  /** Opens the canonical block; false when there is none for this type (a server tool's, say). */
  #openBlock(block: JsonObject): boolean {
    switch (block['type']) {
      case 'text':
        this.#writer.open({ $case: 'text', value: {} });
        this.#writer.delta({ $case: 'text', value: optionalTextField(block, 'text') });
        return true;
      case 'thinking':
        this.#writer.open({ $case: 'reasoning', value: { redactedData: '' } });
        this.#writer.delta({ $case: 'text', value: optionalTextField(block, 'thinking') });
        this.#writer.delta({ $case: 'signature', value: optionalTextField(block, 'signature') });
        return true;
      case 'redacted_thinking':
        this.#writer.open({ $case: 'reasoning', value: { redactedData: optionalTextField(block, 'data') } });
        return true;
      case 'tool_use': {
        const [id, name] = [optionalTextField(block, 'id'), optionalTextField(block, 'name')];
        if (id === '' || name === '') throw malformed('a tool_use block without an id or a name');
        this.#writer.open({ $case: 'toolCall', value: { id, name } });
        return true;
      }
      default:
        return false;
    }
  }

  #blockDelta(index: unknown, delta: unknown): void {
    if (!isObject(delta)) throw malformed('a content_block_delta without a delta');
    if (this.#open === undefined || this.#open.upstreamIndex !== index) throw malformed('a delta for a block that is not open');
    if (!this.#open.isRelayed) return;
    switch (delta['type']) {
      case 'text_delta':
        return this.#write('text', 'text', optionalTextField(delta, 'text'));
      case 'thinking_delta':
        return this.#write('reasoning', 'text', optionalTextField(delta, 'thinking'));
      case 'signature_delta':
        return this.#write('reasoning', 'signature', optionalTextField(delta, 'signature'));
      case 'input_json_delta': {
        const fragment = optionalTextField(delta, 'partial_json');
        this.#open.hasArguments ||= fragment !== '';
        return this.#write('toolCall', 'argumentsJson', fragment);
      }
      default:
      // Citations and other additions have no canonical form.
    }
  }

  #write(kind: BlockWriter['openKind'], field: 'text' | 'signature' | 'argumentsJson', value: string): void {
    if (this.#writer.openKind !== kind) throw malformed('a delta that does not belong to its block');
    this.#writer.delta({ $case: field, value });
  }

  #blockStop(): void {
    if (this.#open === undefined) return;
    if (this.#open.isRelayed) {
      if (this.#writer.openKind === 'toolCall' && !this.#open.hasArguments) {
        this.#writer.delta({ $case: 'argumentsJson', value: this.#open.initialArguments || '{}' });
      }
      this.#writer.close();
    }
    this.#open = undefined;
  }

  #messageDelta(event: JsonObject): void {
    this.#usage.mergeDelta(event['usage']);
    const delta = isObject(event['delta']) ? event['delta'] : {};
    const label = optionalTextField(delta, 'stop_reason');
    // Usage alone may come early and more than once; only a stop reason says that the answer is whole.
    if (label !== '') this.#ending = { label, stopSequence: optionalTextField(delta, 'stop_sequence') };
  }

  #done(): Event[] {
    if (this.#ending === undefined) throw brokenOff();
    this.#blockStop();
    const { label, stopSequence } = this.#ending;
    this.outcome = { stopReason: stopReason(label, this.#writer.written), stopSequence };
    return this.#writer.take();
  }
}

const stopReasons: Readonly<Record<string, StopReason>> = {
  max_tokens: StopReason.STOP_REASON_MAX_TOKENS,
  stop_sequence: StopReason.STOP_REASON_STOP_SEQUENCE,
  refusal: StopReason.STOP_REASON_REFUSAL,
  model_context_window_exceeded: StopReason.STOP_REASON_CONTEXT_FULL,
};

/** A tool call that was written decides where the label only says that the model was done. */
function stopReason(label: string, written: ReadonlySet<string>): StopReason {
  const known = Object.hasOwn(stopReasons, label) ? stopReasons[label] : undefined;
  return known ?? (written.has('toolCall') ? StopReason.STOP_REASON_TOOL_CALLS : StopReason.STOP_REASON_END);
}
