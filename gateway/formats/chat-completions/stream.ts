// Events → the frames of a streamed chat-completions answer: data only, every chunk with the same id, created and model.
import assert from 'node:assert/strict';
import { type BlockDelta, type BlockStart, type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Block, emptyBlock } from '../blocks.js';
import type { AnswerContext, StreamEncoder } from '../format.js';
import { answerId, createdSeconds, finishReason, signedReasoning, usageOf } from './response.js';

/** Encodes one streamed answer. */
export function streamChatCompletion(context: AnswerContext): StreamEncoder {
  return new ChatCompletionStream(context);
}

interface OpenBlock {
  block: Block;
  /** Of a tool call: its own counter, for block indexes count text too. */
  toolIndex: number;
  hasArguments: boolean;
}

class ChatCompletionStream implements StreamEncoder {
  // A chunk is written around its delta as text: serialising the unchanging rest again for every token would cost more.
  private readonly head: string;
  private readonly tail: string;
  private hasBegun = false;
  private toolCalls = 0;
  private stopReason: StopReason | undefined;
  private readonly open = new Map<number, OpenBlock>();
  private readonly reasoning: Block[] = [];

  constructor(private readonly context: AnswerContext) {
    const fixed = { id: answerId(context.requestId), object: 'chat.completion.chunk', created: createdSeconds(context), model: context.model };
    this.head = `data: ${JSON.stringify(fixed).slice(0, -1)},"choices":[`;
    // Once the caller has asked for usage, the key stands in every chunk and is null in all but the last.
    this.tail = context.includeUsage ? ',"usage":null}\n\n' : '}\n\n';
  }

  push(events: readonly Event[]): string {
    let frames = '';
    for (const { event } of events) {
      if (event === undefined) continue;
      frames += this.begin();
      if (event.$case === 'blockStart') frames += this.startBlock(event.value);
      else if (event.$case === 'blockDelta') frames += this.addDelta(event.value);
      else if (event.$case === 'blockStop') frames += this.stopBlock(event.value.index);
      else if (event.$case === 'finished') this.stopReason = event.value.stopReason;
    }
    return frames;
  }

  finish(usage: TokenCounts): string {
    assert(this.stopReason !== undefined, 'a stream ends only after its finished event');
    const signed = signedReasoning(this.reasoning);
    // Once and whole, for accumulators of this format overwrite or refuse a list that comes in pieces.
    const replay = signed.length === 0 ? '' : this.chunk(JSON.stringify({ thinking_blocks: signed }));
    const finish = this.chunk('{}', finishReason(this.stopReason, this.toolCalls > 0));
    const total = this.context.includeUsage ? `${this.head}],"usage":${JSON.stringify(usageOf(usage))}}\n\n` : '';
    return `${replay}${finish}${total}data: [DONE]\n\n`;
  }

  private begin(): string {
    if (this.hasBegun) return '';
    this.hasBegun = true;
    return this.chunk('{"role":"assistant","content":"","refusal":null}');
  }

  private startBlock(start: BlockStart): string {
    const block = emptyBlock(start);
    this.open.set(start.index, { block, toolIndex: this.toolCalls, hasArguments: false });
    if (block.kind === 'reasoning') this.reasoning.push(block);
    if (block.kind !== 'toolCall') return '';
    const call = { index: this.toolCalls, id: block.id, type: 'function', function: { name: block.name, arguments: '' } };
    this.toolCalls += 1;
    return this.chunk(JSON.stringify({ tool_calls: [call] }));
  }

  private addDelta({ index, delta }: BlockDelta): string {
    const opened = this.open.get(index);
    if (opened === undefined || delta === undefined || delta.value === '' || delta.$case === 'foreignJson') return '';
    const { block } = opened;
    const json = JSON.stringify(delta.value);
    switch (block.kind) {
      case 'text':
        return this.chunk(`{"content":${json}}`);
      case 'refusal':
        return this.chunk(`{"refusal":${json}}`);
      case 'reasoning':
        block[delta.$case] += delta.value;
        return delta.$case === 'text' ? this.chunk(`{"reasoning_content":${json}}`) : '';
      case 'toolCall':
        opened.hasArguments = true;
        return this.argumentsChunk(opened.toolIndex, json);
      case 'foreign':
        return '';
    }
  }

  /** Callers parse the arguments of every call, so a call without any gets an empty object. */
  private stopBlock(index: number): string {
    const opened = this.open.get(index);
    this.open.delete(index);
    if (opened?.block.kind !== 'toolCall' || opened.hasArguments) return '';
    return this.argumentsChunk(opened.toolIndex, '"{}"');
  }

  private argumentsChunk(toolIndex: number, json: string): string {
    return this.chunk(`{"tool_calls":[{"index":${toolIndex},"function":{"arguments":${json}}}]}`);
  }

  private chunk(deltaJson: string, finish?: string): string {
    return `${this.head}{"index":0,"delta":${deltaJson},"finish_reason":${finish === undefined ? 'null' : `"${finish}"`}}]${this.tail}`;
  }
}
