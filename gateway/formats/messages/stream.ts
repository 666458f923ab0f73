// Events → the frames of a streamed messages answer: named events, blocks one after another with indexes of their own.
import assert from 'node:assert/strict';
import type { BlockDelta, BlockStart, Event, Finished } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Block, emptyBlock } from '../blocks.js';
import type { AnswerContext, StreamEncoder } from '../format.js';
import { deltaUsageOf, emptyMessage, endOf, usageOf } from './response.js';

/** Encodes one streamed answer. */
export function streamMessage(context: AnswerContext): StreamEncoder {
  return new MessageStream(context);
}

interface StreamedBlock {
  /** What has come but is not written yet. */
  unwritten: Block;
  /** Its index in the answer; undefined until it has something to show. */
  index: number | undefined;
  hasStopped: boolean;
}

class MessageStream implements StreamEncoder {
  private hasBegun = false;
  private finished: Finished | undefined;
  private nextIndex = 0;
  private readonly byUpstreamIndex = new Map<number, StreamedBlock>();
  // Only the first may be written: clients take one open block at a time, while some upstreams interleave parallel tool calls.
  private readonly queue: StreamedBlock[] = [];
  private readonly kinds = new Set<Block['kind']>();

  constructor(private readonly context: AnswerContext) {}

  push(events: readonly Event[]): string {
    let frames = '';
    for (const { event } of events) {
      if (event === undefined) continue;
      frames += this.begin();
      if (event.$case === 'blockStart') frames += this.startBlock(event.value);
      else if (event.$case === 'blockDelta') frames += this.addDelta(event.value);
      else if (event.$case === 'blockStop') frames += this.stopBlock(event.value.index);
      else if (event.$case === 'finished') this.finished = event.value;
    }
    return frames;
  }

  finish(usage: TokenCounts): string {
    assert(this.finished !== undefined, 'a stream ends only after its finished event');
    for (const block of this.queue) block.hasStopped = true;
    const rest = this.writeQueue();
    const delta = endOf(this.finished.stopReason, this.finished.stopSequence, this.kinds);
    // The totals are always whole: a client overwrites the estimate of message_start with them.
    return `${rest}${frame('message_delta', { delta, usage: deltaUsageOf(usage) })}${frame('message_stop', {})}`;
  }

  private begin(): string {
    if (this.hasBegun) return '';
    this.hasBegun = true;
    const estimate: TokenCounts = {
      inputTokens: this.context.inputTokensEstimate,
      cacheReadTokens: 0,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
      outputTokens: 1,
      reasoningTokens: 0,
    };
    return frame('message_start', { message: emptyMessage(this.context, usageOf(estimate)) });
  }

  private startBlock(start: BlockStart): string {
    const block: StreamedBlock = { unwritten: emptyBlock(start), index: undefined, hasStopped: false };
    this.kinds.add(block.unwritten.kind);
    this.byUpstreamIndex.set(start.index, block);
    this.queue.push(block);
    return this.queue[0] === block ? this.write(block) : '';
  }

  private addDelta({ index, delta }: BlockDelta): string {
    const block = this.byUpstreamIndex.get(index);
    if (block === undefined || delta === undefined) return '';
    if (delta.$case === 'foreignJson') return '';
    block.unwritten[delta.$case] += delta.value;
    return this.queue[0] === block ? this.write(block) : '';
  }

  private stopBlock(index: number): string {
    const block = this.byUpstreamIndex.get(index);
    if (block === undefined) return '';
    this.byUpstreamIndex.delete(index);
    block.hasStopped = true;
    return this.queue[0] === block ? this.writeQueue() : '';
  }

  /** Writes every block whose turn has come: stopped ones to their end, then what there is of the next. */
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
    const { unwritten } = block;
    // Text opens its block with its first letter, because empty text blocks are refused when they come back.
    let frames = unwritten.kind === 'toolCall' || unwritten.redactedData !== '' ? this.open(block) : '';
    if (unwritten.text !== '') {
      const [type, field] = unwritten.kind === 'reasoning' ? ['thinking_delta', 'thinking'] : ['text_delta', 'text'];
      frames += this.open(block) + deltaFrame(block.index!, type!, field!, unwritten.text);
      unwritten.text = '';
    }
    if (unwritten.argumentsJson !== '') {
      frames += this.open(block) + deltaFrame(block.index!, 'input_json_delta', 'partial_json', unwritten.argumentsJson);
      unwritten.argumentsJson = '';
    }
    return frames;
  }

  private open(block: StreamedBlock): string {
    if (block.index !== undefined) return '';
    block.index = this.nextIndex++;
    return frame('content_block_start', { index: block.index, content_block: emptyContentOf(block.unwritten) });
  }

  private close(block: StreamedBlock): string {
    const { signature } = block.unwritten;
    const signed = signature === '' ? '' : this.open(block) + deltaFrame(block.index!, 'signature_delta', 'signature', signature);
    return block.index === undefined ? '' : `${signed}${frame('content_block_stop', { index: block.index })}`;
  }
}

/** A block as it opens: all of its fields present, for accumulators append to them. */
function emptyContentOf(block: Block): object {
  switch (block.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: '', citations: null };
    case 'reasoning':
      return block.redactedData === '' ? { type: 'thinking', thinking: '', signature: '' } : { type: 'redacted_thinking', data: block.redactedData };
    case 'toolCall':
      return { type: 'tool_use', id: block.id, name: block.name, input: {}, caller: { type: 'direct' } };
    case 'foreign':
      return { type: 'foreign' };
  }
}

// Clients of this format read the name of the event, and pass silently over frames without one.
function frame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** By far the most frequent frame, so written as text around the one value that needs escaping. */
function deltaFrame(index: number, type: string, field: string, value: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":${JSON.stringify(value)}}}\n\n`;
}
