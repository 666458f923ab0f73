// Decodes a chat-completions stream into canonical events. Pure.
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { noReport, type UsageReport } from '../../tokens/usage-report.js';
import { BlockWriter } from '../block-writer.js';
import type { AnswerHead } from '../http/wire.js';
import { brokenOff, isObject, type JsonObject, malformed, optionalTextField, type Outcome, parsePayload, type StreamDecoder } from '../stream-decoder.js';
import { errorOf, frameError } from './error.js';
import { ToolCalls } from './tool-calls.js';
import { readUsage } from './usage.js';

/** What a decoder needs to know of its request. */
export interface ChatCompletionsStreamOptions extends AnswerHead {
  /** The caller's name of a tool whose name was shortened for the upstream. */
  readonly toCallerName: (name: string) => string;
  /** Makes a tool call id, for upstreams that send none. */
  readonly newToolCallId: () => string;
}

/** A decoder for one answer. Only choice 0 is read, for only one is ever asked for. */
export class ChatCompletionsDecoder implements StreamDecoder {
  readonly #writer: BlockWriter;
  readonly #toolCalls: ToolCalls;
  #finishReason: string | undefined;
  #sawChoices = false;
  outcome: Outcome | undefined;
  report: UsageReport = noReport;

  constructor(private readonly options: ChatCompletionsStreamOptions) {
    this.#writer = new BlockWriter(options.target, options.droppedFields);
    this.#toolCalls = new ToolCalls(this.#writer, options.toCallerName, options.newToolCallId);
  }

  push(data: string): Event[] {
    if (this.outcome !== undefined || data.trim() === '') return [];
    if (data.trim() === '[DONE]') return this.#done();
    const chunk = parsePayload(data);
    const error = errorOf(chunk);
    if (error !== undefined) throw frameError(error, this.options.target.upstreamModel);
    this.report = readUsage(chunk['usage']) ?? this.report;
    if (Array.isArray(chunk['choices'])) {
      this.#sawChoices = true;
      this.#writer.start(this.options.requestId || textOrEmpty(chunk['id']), textOrEmpty(chunk['model']));
      for (const choice of chunk['choices']) this.#choice(choice);
    }
    return this.#writer.take();
  }

  end(): Event[] {
    if (this.outcome !== undefined) return [];
    if (this.#finishReason === undefined) throw brokenOff();
    return this.#done();
  }

  #choice(choice: unknown): void {
    if (!isObject(choice)) throw malformed('a choice that is not an object');
    if (choice['index'] !== undefined && choice['index'] !== 0) return;
    const delta = choice['delta'] ?? {};
    if (!isObject(delta)) throw malformed('a delta that is not an object');
    this.#delta(delta);
    this.#finishReason = optionalTextField(choice, 'finish_reason') || this.#finishReason;
  }

  #delta(delta: JsonObject): void {
    // Upstreams that send both send the same text twice.
    this.#text('reasoning', optionalTextField(delta, 'reasoning_content') || textOrEmpty(delta['reasoning']));
    this.#text('text', optionalTextField(delta, 'content'));
    this.#text('refusal', optionalTextField(delta, 'refusal'));
    const toolCalls = delta['tool_calls'];
    if (toolCalls === undefined || toolCalls === null) return;
    if (!Array.isArray(toolCalls)) throw malformed('tool calls that are not a list');
    for (const entry of toolCalls) this.#toolCalls.push(entry);
  }

  #text(kind: 'text' | 'reasoning' | 'refusal', text: string): void {
    if (text === '') return;
    if (this.#writer.openKind !== kind) {
      this.#toolCalls.finish();
      this.#writer.open(kind === 'reasoning' ? { $case: kind, value: { redactedData: '' } } : { $case: kind, value: {} });
    }
    this.#writer.delta({ $case: 'text', value: text });
  }

  #done(): Event[] {
    // An upstream that ends a stream in which it said nothing has failed, whatever marker it ends with.
    if (!this.#sawChoices) throw brokenOff();
    this.#toolCalls.finish();
    this.#writer.close();
    this.outcome = { stopReason: stopReason(this.#finishReason, this.#writer.written), stopSequence: '' };
    return this.#writer.take();
  }
}

/** By content first, by label second: some upstreams say "stop" although they call tools. */
function stopReason(label: string | undefined, written: ReadonlySet<string>): StopReason {
  if (label === 'length') return StopReason.STOP_REASON_MAX_TOKENS;
  if (label === 'content_filter') return StopReason.STOP_REASON_REFUSAL;
  if (written.has('toolCall')) return StopReason.STOP_REASON_TOOL_CALLS;
  return written.has('refusal') ? StopReason.STOP_REASON_REFUSAL : StopReason.STOP_REASON_END;
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
