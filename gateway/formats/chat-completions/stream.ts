// Events → the frames of a streamed chat-completions answer: data only, every chunk with the same id, created and model.
import assert from 'node:assert/strict';
import { type BlockDelta, type BlockStart, type Event, StopReason } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { AppError } from '#client/errors/app-error.js';
import { type Block, emptyBlock } from '../blocks.js';
import type { StreamContext, StreamEncoder } from '../format.js';
import { isObject, type JsonObject } from '../rest.js';
import { answerId, createdSeconds, finishReason, signedReasoning, usageOf } from './response.js';
import { type ChunkRest, chunkRestOf, toolCallsWith } from './rest.js';

/** Encodes one streamed answer. */
export function streamChatCompletion(context: StreamContext): StreamEncoder {
  return new ChatCompletionStream(context);
}

/** Maximum number of finishes of other choices: more than the format has choices are rejected. */
const heldEndsMax = 128;

interface OpenBlock {
  block: Block;
  /** The index of a tool call. It has its own counter, because block indexes count text too. */
  toolIndex: number;
  hasArguments: boolean;
}

class ChatCompletionStream implements StreamEncoder {
  // A chunk is written as text around its delta: serialising the constant fields again for every token would cost more.
  private fixed: JsonObject;
  private head: string;
  private readonly tail: string;
  /** What surrounds a piece of text in a chunk. */
  private textHead = '';
  private readonly textTail: string;
  private hasBegun = false;
  /** For each tool call so far, whether it calls a custom tool. */
  private readonly toolCalls: boolean[] = [];
  private hasRefusal = false;
  private stopReason: StopReason | undefined;
  private readonly open = new Map<number, OpenBlock>();
  private readonly reasoning: Block[] = [];
  /** What belongs in the next chunk alongside its delta. */
  private rest: ChunkRest | undefined;
  private lastRest: ChunkRest | undefined;
  private readonly heldEnds: string[] = [];

  constructor(private readonly context: StreamContext) {
    this.fixed = {
      id: answerId(context.requestId),
      object: 'chat.completion.chunk',
      created: createdSeconds(context),
      model: context.model,
    };
    this.head = headOf(this.fixed);
    // If the caller requested usage, the key is in every chunk and is null in all but the last.
    this.tail = context.includeUsage ? ',"usage":null}\n\n' : '}\n\n';
    this.textTail = `},"finish_reason":null}]${this.tail}`;
  }

  push(events: readonly Event[]): string {
    let frames = '';
    for (const { event, extraJson } of events) {
      if (event === undefined) continue;
      if (!this.hasBegun) frames += this.begin(event.$case === 'started' ? extraJson : undefined);
      else if (extraJson !== undefined && event.$case !== 'finished') this.rest = chunkRestOf(extraJson);
      if (event.$case === 'blockStart') frames += this.startBlock(event.value);
      else if (event.$case === 'blockDelta') frames += this.addDelta(event.value);
      else if (event.$case === 'blockStop') frames += this.stopBlock(event.value.index);
      else if (event.$case === 'foreign') frames += this.foreign(event.value.json, event.value.isEnd);
      else if (event.$case === 'finished') this.end(event.value.stopReason, extraJson);
      // A rest that no chunk of the event carried gets its own chunk.
      if (this.rest !== undefined) frames += this.chunk('{}');
    }
    return frames;
  }

  finish(usage: TokenCounts): string {
    assert(this.stopReason !== undefined, 'a stream ends only after its finished event');
    const signed = signedReasoning(this.reasoning);
    // Sent once and whole, because accumulators of this format overwrite or reject a list that arrives in pieces.
    const replay = signed.length === 0 ? '' : this.chunk(JSON.stringify({ thinking_blocks: signed }));
    const others = this.heldEnds.join('');
    this.rest = this.lastRest;
    const content = { hasToolCalls: this.toolCalls.length > 0, hasRefusal: this.hasRefusal };
    const finish = this.chunk('{}', finishReason(this.stopReason, content, this.lastRest?.finishReason));
    const total = this.context.includeUsage ? `${this.head}],"usage":${JSON.stringify(usageOf(usage, this.lastRest?.usage))}}\n\n` : '';
    return `${replay}${others}${finish}${total}data: [DONE]\n\n`;
  }

  private begin(extraJson: string | undefined): string {
    this.hasBegun = true;
    if (extraJson !== undefined) {
      this.rest = chunkRestOf(extraJson);
      // Tiers and fingerprints are in every chunk, as their vendors send them; lists and objects are sent once.
      this.fixed = { ...this.fixed, ...Object.fromEntries(Object.entries(this.rest.top).filter(([, value]) => typeof value !== 'object')) };
      this.head = headOf(this.fixed);
    }
    this.textHead = `${this.head}{"index":0,"delta":{"content":`;
    return this.chunk('{"role":"assistant","content":"","refusal":null}');
  }

  private end(stopReason: StopReason, extraJson: string | undefined): void {
    this.stopReason = stopReason;
    this.lastRest = extraJson === undefined ? undefined : chunkRestOf(extraJson);
  }

  private startBlock(start: BlockStart): string {
    const block = emptyBlock(start);
    const index = this.toolCalls.length;
    this.open.set(start.index, { block, toolIndex: index, hasArguments: false });
    if (block.kind === 'reasoning') this.reasoning.push(block);
    if (block.kind !== 'toolCall') return '';
    this.toolCalls.push(block.isCustom);
    const { id, name } = block;
    const call = block.isCustom
      ? { index, id, type: 'custom', custom: { name, input: '' } }
      : { index, id, type: 'function', function: { name, arguments: '' } };
    return this.chunk(JSON.stringify({ tool_calls: [call] }));
  }

  private addDelta({ index, delta }: BlockDelta): string {
    const opened = this.open.get(index);
    if (opened === undefined || delta === undefined || delta.value === '' || delta.$case === 'foreignJson') return '';
    const { block } = opened;
    const json = JSON.stringify(delta.value);
    switch (block.kind) {
      case 'text':
        return this.rest === undefined ? this.textHead + json + this.textTail : this.chunk(`{"content":${json}}`);
      case 'refusal':
        this.hasRefusal = true;
        return this.chunk(`{"refusal":${json}}`);
      case 'reasoning':
        block[delta.$case] += delta.value;
        return delta.$case === 'text' ? this.chunk(`{"reasoning_content":${json}}`) : '';
      case 'toolCall':
        opened.hasArguments = true;
        return this.argumentsChunk(opened, json);
      case 'foreign':
        return '';
    }
  }

  /** Ends a block. Callers parse the arguments of every call, so a call without any gets an empty object. */
  private stopBlock(index: number): string {
    const opened = this.open.get(index);
    this.open.delete(index);
    if (opened?.block.kind !== 'toolCall' || opened.hasArguments || opened.block.isCustom) return '';
    return this.argumentsChunk(opened, '"{}"');
  }

  private argumentsChunk({ toolIndex, block }: OpenBlock, json: string): string {
    return this.chunk(
      `{"tool_calls":[{"index":${toolIndex},${block.isCustom ? `"custom":{"input":${json}}` : `"function":{"arguments":${json}}`}}]}`,
    );
  }

  /** Writes a chunk that could not be converted to events. */
  private foreign(json: string, isEnd: boolean): string {
    const rest = chunkRestOf(json);
    const hasOwn = [rest.choice, rest.delta, ...rest.toolCalls].some((part) => Object.keys(part).length > 0);
    // Many clients read choices[0] of every chunk, so a chunk without choices gets an empty one.
    return this.hold(
      rest,
      isEnd,
      this.frameOf(rest, hasOwn || rest.others.length === 0 ? [this.ownChoice(rest, {}, null), ...rest.others] : rest.others),
    );
  }

  /** Holds the finish of another choice until the end of the call. */
  private hold(rest: ChunkRest, isEnd: boolean, frame: string): string {
    if (!isEnd && rest.others.every((choice) => choice['finish_reason'] === null)) return frame;
    if (this.heldEnds.length >= heldEndsMax)
      throw new AppError('upstream_failed', 'The upstream ended its answer more often than it has choices.');
    this.heldEnds.push(frame);
    return '';
  }

  private chunk(deltaJson: string, finish?: string): string {
    if (this.rest !== undefined) return this.chunkWithRest(this.rest, deltaJson, finish ?? null);
    return `${this.head}{"index":0,"delta":${deltaJson},"finish_reason":${finish === undefined ? 'null' : JSON.stringify(finish)}}]${this.tail}`;
  }

  private chunkWithRest(rest: ChunkRest, deltaJson: string, finish: string | null): string {
    this.rest = undefined;
    return this.frameOf(rest, [this.ownChoice(rest, JSON.parse(deltaJson) as JsonObject, finish)]);
  }

  private ownChoice(rest: ChunkRest, delta: JsonObject, finish: string | null): JsonObject {
    const [own] = Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : [];
    const calls = toolCallsWith(rest.toolCalls, isObject(own) ? own : undefined, this.toolCalls.length);
    // Clients of this format expect text in every fragment of a call.
    const whole = calls.map((call) =>
      this.toolCalls[Number(call['index'])] === true ? { custom: { input: '' }, ...call } : { function: { arguments: '' }, ...call },
    );
    return {
      index: 0,
      ...rest.choice,
      delta: { ...rest.delta, ...delta, ...(whole.length === 0 ? {} : { tool_calls: whole }) },
      finish_reason: finish,
    };
  }

  private frameOf(rest: ChunkRest, choices: readonly JsonObject[]): string {
    const chunk = { ...this.fixed, ...rest.top, choices, ...(this.context.includeUsage ? { usage: null } : {}) };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}

function headOf(fixed: JsonObject): string {
  return `data: ${JSON.stringify(fixed).slice(0, -1)},"choices":[`;
}
