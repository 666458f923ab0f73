// Events → the frames of a streamed messages answer: named events, and blocks one after another with our own indexes.
import assert from 'node:assert/strict';
import type { BlockDelta, BlockStart, Event, Finished, Foreign } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { AppError } from '#client/errors/app-error.js';
import { type Block, emptyBlock } from '../blocks.js';
import type { StreamContext, StreamEncoder } from '../format.js';
import { filled, type JsonObject, objectIn, oneLine, parseObject } from '../rest.js';
import { deltaUsageOf, emptyContentOf, emptyMessage, endOf, usageOf } from './response.js';
import { besideOf, blockWith, endRestOf, foreignEventType, messageWith, usageWith } from './rest.js';

/** Encodes one streamed answer. */
export function streamMessage(context: StreamContext): StreamEncoder {
  return new MessageStream(context);
}

/** Maximum number of foreign events that mark an end; vendors send one. */
const heldEndsMax = 128;

/** Holds a delta that is more than its text. */
interface SpecialDelta {
  readonly json: string;
  /** Its other fields in the event, as text to insert there. */
  readonly beside: string;
}

interface StreamedBlock {
  /** What has arrived but is not written yet. */
  unwritten: Block;
  /** Deltas to write before that. */
  deltas: SpecialDelta[];
  /** What the upstream sent alongside the block's start, its signature and its stop. */
  startRest: JsonObject | undefined;
  startBeside: JsonObject | undefined;
  signatureRest: JsonObject | undefined;
  signatureBeside: string;
  stopRest: JsonObject | undefined;
  /** Its index in the answer; undefined until it has something to show. */
  index: number | undefined;
  hasText: boolean;
  hasStopped: boolean;
}

class MessageStream implements StreamEncoder {
  private hasBegun = false;
  private finished: Finished | undefined;
  private endRest: string | undefined;
  private nextIndex = 0;
  private readonly byUpstreamIndex = new Map<number, StreamedBlock>();
  // Only the first may be written: clients accept one open block at a time, while some upstreams interleave parallel tool calls.
  private readonly queue: StreamedBlock[] = [];
  private readonly kinds = new Set<Block['kind']>();
  private readonly heldEnds: string[] = [];

  constructor(private readonly context: StreamContext) {}

  push(events: readonly Event[]): string {
    let frames = '';
    for (const { event, extraJson, envelopeJson } of events) {
      if (event === undefined) continue;
      if (!this.hasBegun) frames += event.$case === 'started' ? this.begin(extraJson, envelopeJson) : this.begin();
      if (event.$case === 'blockStart') frames += this.startBlock(event.value, extraJson, envelopeJson);
      else if (event.$case === 'blockDelta') frames += this.addDelta(event.value, extraJson, envelopeJson);
      else if (event.$case === 'blockStop') frames += this.stopBlock(event.value.index, extraJson);
      else if (event.$case === 'foreign') frames += this.foreign(event.value);
      else if (event.$case === 'finished') [this.finished, this.endRest] = [event.value, extraJson];
    }
    return frames;
  }

  finish(usage: TokenCounts): string {
    assert(this.finished !== undefined, 'a stream ends only after its finished event');
    for (const block of this.queue) block.hasStopped = true;
    const blocks = this.writeQueue();
    const rest = endRestOf(this.endRest);
    const delta = { ...rest.delta, ...endOf(this.finished.stopReason, this.finished.stopSequence, this.kinds, rest) };
    // The totals are always complete: a client overwrites the estimate of message_start with them.
    const end = frame('message_delta', { delta, usage: usageWith(deltaUsageOf(usage), rest.usage), ...rest.event });
    return `${blocks}${this.heldEnds.join('')}${end}${frame('message_stop', {})}`;
  }

  private begin(extraJson?: string, envelopeJson?: string): string {
    this.hasBegun = true;
    const usage = usageOf({ ...this.context.inputEstimate, outputTokens: 1, reasoningTokens: 0 });
    const rest = extraJson === undefined ? {} : parseObject(extraJson);
    const message = messageWith(emptyMessage(this.context, usageWith(usage, objectIn(rest, 'usage'))), rest);
    return frame('message_start', { message, ...besideOf(envelopeJson) });
  }

  private startBlock(start: BlockStart, extraJson: string | undefined, envelopeJson: string | undefined): string {
    const block: StreamedBlock = {
      unwritten: emptyBlock(start),
      deltas: [],
      startRest: extraJson === undefined ? undefined : parseObject(extraJson),
      startBeside: besideOf(envelopeJson),
      signatureRest: undefined,
      signatureBeside: '',
      stopRest: undefined,
      index: undefined,
      hasText: false,
      hasStopped: false,
    };
    this.kinds.add(block.unwritten.kind);
    this.byUpstreamIndex.set(start.index, block);
    this.queue.push(block);
    return this.queue[0] === block ? this.write(block) : '';
  }

  private addDelta({ index, delta }: BlockDelta, extraJson: string | undefined, envelopeJson: string | undefined): string {
    const block = this.byUpstreamIndex.get(index);
    if (block === undefined || delta === undefined) return '';
    if (extraJson !== undefined || delta.$case === 'foreignJson') addSpecialDelta(block, delta, extraJson, besideText(envelopeJson));
    else block.unwritten[delta.$case] += delta.value;
    return this.queue[0] === block ? this.write(block) : '';
  }

  private stopBlock(index: number, extraJson: string | undefined): string {
    const block = this.byUpstreamIndex.get(index);
    if (block === undefined) return '';
    this.byUpstreamIndex.delete(index);
    block.hasStopped = true;
    if (extraJson !== undefined) block.stopRest = parseObject(extraJson);
    return this.queue[0] === block ? this.writeQueue() : '';
  }

  /** Writes an event that only this format has; one that marks an end is held until the end of the call. */
  private foreign({ json, isEnd }: Foreign): string {
    const type = foreignEventType(json);
    if (type === undefined) return '';
    const event = `event: ${type}\ndata: ${oneLine(json)}\n\n`;
    if (!isEnd) return event;
    if (this.heldEnds.length >= heldEndsMax) throw new AppError('upstream_failed', 'The upstream ended its answer too often.');
    this.heldEnds.push(event);
    return '';
  }

  /** Writes every block whose turn has come: stopped ones completely, then what has arrived of the next. */
  private writeQueue(): string {
    let frames = '';
    for (let block = this.queue[0]; block !== undefined; block = this.queue[0]) {
      frames += this.write(block);
      if (!block.hasStopped) return frames;
      frames += this.close(block);
      this.queue.shift();
    }
    return frames;
  }

  private write(block: StreamedBlock): string {
    if (!isShown(block)) return '';
    const { unwritten, deltas } = block;
    let frames = this.open(block);
    if (deltas.length > 0) {
      frames += deltas.map((delta) => foreignDeltaFrame(block.index!, delta)).join('');
      block.deltas = [];
    }
    if (unwritten.text !== '') {
      frames +=
        unwritten.kind === 'reasoning'
          ? deltaFrame(block.index!, 'thinking_delta', 'thinking', unwritten.text)
          : deltaFrame(block.index!, 'text_delta', 'text', unwritten.text);
      unwritten.text = '';
    }
    if (unwritten.argumentsJson !== '') {
      frames += deltaFrame(block.index!, 'input_json_delta', 'partial_json', unwritten.argumentsJson);
      unwritten.argumentsJson = '';
    }
    return frames;
  }

  private open(block: StreamedBlock): string {
    if (block.index !== undefined) return '';
    block.index = this.nextIndex++;
    return frame('content_block_start', {
      index: block.index,
      content_block: blockWith(emptyContentOf(block.unwritten), block.startRest),
      ...block.startBeside,
    });
  }

  private close(block: StreamedBlock): string {
    const { signature } = block.unwritten;
    const signed = signature === '' ? '' : this.open(block) + this.signatureFrame(block, signature);
    return block.index === undefined
      ? ''
      : `${signed}${frame('content_block_stop', { ...block.stopRest, type: 'content_block_stop', index: block.index })}`;
  }

  private signatureFrame({ index, signatureRest, signatureBeside }: StreamedBlock, signature: string): string {
    if (signatureRest === undefined) return deltaFrame(index!, 'signature_delta', 'signature', signature);
    return foreignDeltaFrame(index!, {
      json: JSON.stringify(filled({ type: 'signature_delta', signature }, signatureRest)),
      beside: signatureBeside,
    });
  }
}

/** Reports whether a block has something to show. A text block opens with its first character, because empty text blocks are rejected when sent back; a thought with any content. */
function isShown({ index, unwritten, hasText, deltas }: StreamedBlock): boolean {
  if (index !== undefined || unwritten.text !== '' || hasText) return true;
  const { kind, redactedData } = unwritten;
  return kind === 'toolCall' || kind === 'foreign' || redactedData !== '' || (kind === 'reasoning' && deltas.length > 0);
}

const deltaTypes = { argumentsJson: ['input_json_delta', 'partial_json'], signature: ['signature_delta', 'signature'] } as const;

/** Returns the fields alongside a delta as text to append to an object; empty for none. */
function besideText(envelopeJson: string | undefined): string {
  const fields = JSON.stringify(besideOf(envelopeJson)).slice(1, -1);
  return fields === '' ? '' : `,${fields}`;
}

/** Adds a delta without a common form, or with other fields alongside it. Earlier content is written before it. */
function addSpecialDelta(
  block: StreamedBlock,
  delta: NonNullable<BlockDelta['delta']>,
  extraJson: string | undefined,
  beside: string,
): void {
  const { unwritten, deltas } = block;
  const rest = extraJson === undefined ? {} : parseObject(extraJson);
  const textType = unwritten.kind === 'reasoning' ? (['thinking_delta', 'thinking'] as const) : (['text_delta', 'text'] as const);
  const add = ([type, field]: readonly [string, string], value: string): void =>
    void deltas.push({ json: JSON.stringify(filled({ type, [field]: value }, rest)), beside });
  block.hasText ||= unwritten.text !== '' || (delta.$case === 'text' && delta.value !== '');
  for (const [field, type] of [
    ['text', textType],
    ['argumentsJson', deltaTypes.argumentsJson],
  ] as const) {
    if (unwritten[field] === '') continue;
    deltas.push({ json: JSON.stringify({ type: type[0], [type[1]]: unwritten[field] }), beside: '' });
    unwritten[field] = '';
  }
  if (delta.$case === 'foreignJson') deltas.push({ json: delta.value, beside });
  else if (delta.$case === 'text') add(textType, delta.value);
  else if (delta.$case === 'argumentsJson') add(deltaTypes.argumentsJson, delta.value);
  else {
    // The signature is written whole when its block stops, wherever it arrived.
    unwritten.signature += delta.value;
    block.signatureRest = rest;
    block.signatureBeside = beside;
  }
}

// Clients of this format read the name of the event, and silently skip frames without one.
function frame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** Returns a delta frame. It is by far the most frequent frame, so it is written as text around the one value that needs escaping. */
function deltaFrame(index: number, type: string, field: string, value: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":${JSON.stringify(value)}}}\n\n`;
}

function foreignDeltaFrame(index: number, { json, beside }: SpecialDelta): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${oneLine(json)}${beside}}\n\n`;
}
