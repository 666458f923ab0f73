// Decodes a chat-completions answer into canonical events: a stream's chunks, or the one body of a server that does not stream. Pure.
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { noReport, type UsageReport } from '../../tokens/usage-report.js';
import { BlockWriter } from '../answers/block-writer.js';
import type { AnswerHead } from '../http/wire.js';
import { isText, PayloadParser, type Repeated } from '../answers/payload-parser.js';
import {
  brokenOff,
  isObject,
  type JsonObject,
  malformed,
  optionalTextField,
  type Outcome,
  type StreamDecoder,
  textOrEmpty,
} from '../answers/stream-decoder.js';
import { errorOf, frameError } from './error.js';
import { Rest } from './rest.js';
import { ToolCalls } from './tools/tool-calls.js';
import { mergeReports, readUsage } from './usage.js';

/** Holds what a decoder needs to know about its request. */
export interface ChatCompletionsStreamOptions extends AnswerHead {
  /** Returns the caller's name of a tool whose name was shortened for the upstream. */
  readonly toCallerName: (name: string) => string;
  /** Creates a tool call id, for upstreams that send none. */
  readonly newToolCallId: () => string;
  /** The request's stop sequences, for upstreams that report which one was matched. */
  readonly stopSequences: readonly string[];
  /** Whether the vendor may run tools. */
  readonly runsTools?: boolean;
  /** The choices that were requested. Absent: one. */
  readonly choices?: number;
}

type TextKind = 'text' | 'reasoning' | 'refusal';

/** Decodes one answer. Choice 0 becomes events; other choices reach only callers of the same format. */
export class ChatCompletionsDecoder implements StreamDecoder {
  readonly #payloads = new PayloadParser();
  readonly #writer: BlockWriter;
  readonly #toolCalls: ToolCalls;
  /** Set only if the caller uses this format. */
  readonly #rest: Rest | undefined;
  #finishReason: string | undefined;
  #stopSequence = '';
  #sawChoices = false;
  /** Whether deltas of choice 0 have written something. */
  #isInDeltas = false;
  /** The fields of the chunks before the first one with choices. */
  #beforeFirst: JsonObject | undefined;
  /** Whether each of the other choices that have begun is open. */
  #others: Map<unknown, boolean> | undefined;
  #usage: unknown;
  #hasFinalUsage = false;
  /** Texts that arrived in the middle of a tool call's arguments; they are written after it. */
  readonly #held: [TextKind, string][] = [];
  /** The chunk whose repetitions write a piece of text to the open block and do nothing else. */
  #plain: JsonObject | undefined;
  outcome: Outcome | undefined;
  report: UsageReport = noReport;

  constructor(private readonly options: ChatCompletionsStreamOptions) {
    const rest = options.isNative ? new Rest() : undefined;
    this.#rest = rest;
    this.#writer = new BlockWriter(options.target, options.droppedFields, options.customTools, options.earlierCallIds);
    this.#toolCalls = new ToolCalls(
      this.#writer,
      options.toCallerName,
      options.newToolCallId,
      rest === undefined ? undefined : (entry) => rest.addToolCall(entry),
    );
  }

  get hasAllContent(): boolean {
    return this.#haveEnded && (this.#rest === undefined || (this.#others?.size ?? 0) + 1 >= (this.options.choices ?? 1));
  }

  /** Whether all choices that have begun have ended. A server may return fewer than were requested. */
  get #haveEnded(): boolean {
    return this.#finishReason !== undefined && (this.#others === undefined || ![...this.#others.values()].includes(true));
  }

  get isReportFinal(): boolean {
    return this.outcome !== undefined || this.#hasFinalUsage;
  }

  push(data: string): Event[] {
    const text = data.trim();
    if (this.outcome !== undefined || text === '') return [];
    if (text === '[DONE]') return this.#done();
    const chunk = this.#payloads.parse(text);
    const { repeated } = this.#payloads;
    if (repeated !== undefined && repeated.text !== '' && chunk === this.#plain) {
      this.#writer.delta({ $case: 'text', value: repeated.text });
      return this.#writer.take();
    }
    const events = this.#read(chunk);
    this.#plain = repeated !== undefined && isPlain(chunk, repeated, events) ? chunk : undefined;
    return events;
  }

  #read(chunk: JsonObject): Event[] {
    const choices = chunk['choices'];
    if (chunk['error'] || !Array.isArray(choices)) this.#refuse(chunk);
    const isReport = this.#readUsage(chunk);
    if (Array.isArray(choices)) this.#choices(choices, chunk);
    else if (this.#sawChoices && chunk['type'] !== 'ping') this.#flush(chunk, false);
    if (isReport && this.#haveEnded) this.#hasFinalUsage = true;
    return this.#writer.take();
  }

  end(): Event[] {
    if (this.outcome !== undefined) return [];
    if (!this.#haveEnded) throw brokenOff();
    return this.#done();
  }

  #refuse(chunk: JsonObject): void {
    const error = errorOf(chunk);
    if (error !== undefined) throw frameError(error, this.options.target.upstreamModel);
  }

  #choices(choices: readonly unknown[], chunk: JsonObject): void {
    const isFirst = !this.#sawChoices;
    if (!isFirst) {
      for (const choice of choices) this.#choice(choice);
      return this.#flush(chunk, false);
    }
    const first = { ...this.#beforeFirst, ...chunk };
    // Nothing of the answer is in it: Azure begins with the results of its filters. Another target can still be tried.
    if (choices.length === 0) return void (this.#beforeFirst = first);
    this.#sawChoices = true;
    this.#writer.start(this.options.requestId || textOrEmpty(first['id']), textOrEmpty(first['model']));
    for (const choice of choices) this.#choice(choice);
    this.#flush(first, true);
  }

  #flush(chunk: JsonObject, isFirst: boolean): void {
    this.#rest?.flush(chunk, this.#writer, { isFirst, hasEnded: this.#finishReason !== undefined });
  }

  #choice(choice: unknown): void {
    if (!isObject(choice)) throw malformed('a choice that is not an object');
    if (Number(choice['index'] ?? 0) !== 0) return this.#otherChoice(choice);
    // A server that does not stream sends the whole message, which is therefore complete. MiniMax ends a stream with it, as a repetition.
    const message = choice['delta'] === undefined && !this.#isInDeltas ? choice['message'] : undefined;
    const delta = choice['delta'] ?? message ?? {};
    if (!isObject(delta)) throw malformed('a delta that is not an object');
    this.#delta(delta);
    this.#isInDeltas ||= message === undefined && this.#writer.written.size > 0;
    const label = optionalTextField(choice, 'finish_reason') || (isObject(message) ? 'stop' : '');
    if (label !== '') this.#finish(label, choice);
    this.#rest?.addChoice(choice, delta);
  }

  /** Handles a choice other than 0. Only callers of this format request one; for other callers it is ignored. */
  #otherChoice(choice: JsonObject): void {
    if (this.#rest === undefined) return;
    this.#rest.addOther(isObject(choice['message']) ? chunkOf(choice, choice['message']) : choice);
    this.#others ??= new Map();
    this.#others.set(choice['index'], optionalTextField(choice, 'finish_reason') === '' && choice['message'] === undefined);
  }

  #finish(label: string, choice: JsonObject): void {
    const failure = failures[label];
    if (failure !== undefined) throw frameError(failure, this.options.target.upstreamModel);
    this.#finishReason = label;
    // vLLM and SGLang report which stop sequence was matched.
    const matched = textOrEmpty(choice['stop_reason']) || textOrEmpty(choice['matched_stop']);
    if (matched !== '' && this.options.stopSequences.includes(matched)) this.#stopSequence = matched;
    // Moonshot reports its usage here.
    if (isObject(choice['usage']) && this.#takeUsage(choice['usage'])) this.#hasFinalUsage = this.#haveEnded;
  }

  /** Reads the usage in a chunk. Returns whether it reports something new. */
  #readUsage(chunk: JsonObject): boolean {
    const groq = chunk['x_groq'];
    const usage = chunk['usage'] ?? (isObject(groq) ? groq['usage'] : undefined);
    return usage !== undefined && usage !== null && this.#takeUsage(usage);
  }

  #takeUsage(usage: unknown): boolean {
    const merged = mergeReports(this.report, readUsage(usage, this.options.runsTools));
    // A later report without figures adds nothing else either.
    const isNew = merged !== this.report;
    if (isNew) this.#usage = usage;
    this.report = merged;
    return isNew;
  }

  #delta(delta: JsonObject): void {
    // Upstreams that send both send the same text twice.
    this.#text('reasoning', optionalTextField(delta, 'reasoning_content') || textOrEmpty(delta['reasoning']));
    if (Array.isArray(delta['content'])) this.#contentParts(delta['content']);
    else this.#text('text', optionalTextField(delta, 'content'));
    this.#text('refusal', optionalTextField(delta, 'refusal'));
    // Servers from the format's first year call a single function, without an id.
    if (isObject(delta['function_call'])) this.#toolCalls.push({ index: -1, function: delta['function_call'] });
    const toolCalls = delta['tool_calls'];
    if (toolCalls === undefined || toolCalls === null) return;
    if (!Array.isArray(toolCalls)) throw malformed('tool calls that are not a list');
    for (const entry of toolCalls) this.#toolCalls.push(entry);
    if (this.#held.length > 0 && !this.#toolCalls.hasOpenArguments) this.#release();
  }

  /** Mistral's reasoning models send lists of parts. */
  #contentParts(parts: readonly unknown[]): void {
    for (const part of parts) {
      if (!isObject(part)) throw malformed('a content part that is not an object');
      if (part['type'] === 'text') this.#text('text', optionalTextField(part, 'text'));
      else if (Array.isArray(part['thinking'])) {
        this.#text('reasoning', part['thinking'].map((each) => (isObject(each) ? textOrEmpty(each['text']) : '')).join(''));
      }
    }
  }

  #text(kind: TextKind, text: string): void {
    if (text === '') return;
    if (this.#writer.openKind !== kind) {
      if (this.#toolCalls.hasOpenArguments) return void this.#held.push([kind, text]);
      this.#toolCalls.finish();
      this.#writer.open(kind === 'reasoning' ? { $case: kind, value: { redactedData: '' } } : { $case: kind, value: {} });
    }
    this.#writer.delta({ $case: 'text', value: text });
  }

  /** Writes the texts that were held until the arguments around them were complete. */
  #release(): void {
    for (const [kind, text] of this.#held.splice(0)) this.#text(kind, text);
  }

  #done(): Event[] {
    // An upstream that ends a stream without having sent anything has failed, whatever marker it ends with.
    if (!this.#sawChoices) throw brokenOff();
    this.#toolCalls.finish();
    this.#release();
    this.#writer.close();
    const { written } = this.#writer;
    const label = this.#finishReason ?? '';
    if (!knownLabels.has(label) && !written.has('toolCall')) this.#rest?.addFinishReason(label);
    const extraJson = this.#rest?.end(this.#usage);
    const reason = stopReason(label, written);
    const isStopped = reason === StopReason.STOP_REASON_END && this.#stopSequence !== '';
    this.outcome = {
      stopReason: isStopped ? StopReason.STOP_REASON_STOP_SEQUENCE : reason,
      stopSequence: isStopped ? this.#stopSequence : '',
      extraJson,
    };
    return this.#writer.take();
  }
}

/** Reports whether all that a chunk did was to write `repeated` to the open block. */
function isPlain(chunk: JsonObject, { holder, field, text }: Repeated, events: readonly Event[]): boolean {
  const { choices } = chunk;
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  if (!isObject(choice) || choice['delta'] !== holder || (chunk['usage'] ?? chunk['x_groq'] ?? choice['finish_reason'] ?? null) !== null)
    return false;
  if ((holder['tool_calls'] ?? holder['function_call'] ?? null) !== null) return false;
  return isText(events, text) && textFields.every((name) => Boolean(holder[name]) === (name === field));
}

const textFields = ['content', 'refusal', 'reasoning_content', 'reasoning'];

/** Returns a choice of an answer that was not streamed, in the form of a chunk. */
function chunkOf(choice: JsonObject, message: JsonObject): JsonObject {
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  const delta =
    calls.length === 0 ? message : { ...message, tool_calls: calls.map((call, index) => (isObject(call) ? { index, ...call } : call)) };
  return { ...choice, message: undefined, delta, finish_reason: choice['finish_reason'] ?? 'stop' };
}

/** Finish reasons that are failures, with the errors that the upstream could have sent instead. */
const failures: Readonly<Record<string, unknown>> = Object.assign(Object.create(null) as object, {
  error: { message: 'The answer ended with finish_reason "error".' },
  abort: { message: 'The answer ended with finish_reason "abort".' },
  insufficient_system_resource: { type: 'overloaded', message: 'The answer ended with finish_reason "insufficient_system_resource".' },
});

// Finish reasons that the common stop reason expresses for a caller of this format; any other one is passed on unchanged.
const knownLabels: ReadonlySet<string> = new Set(['', 'stop', 'length', 'tool_calls', 'content_filter', 'function_call']);

/** Returns the stop reason, by content first and by label second: some upstreams say "stop" although they call tools. */
function stopReason(label: string, written: ReadonlySet<string>): StopReason {
  // The last two are used by Mistral and Anthropic.
  if (label === 'length' || label === 'model_length' || label === 'max_tokens') return StopReason.STOP_REASON_MAX_TOKENS;
  // Google appends the kind of filter.
  if (label.startsWith('content_filter')) return StopReason.STOP_REASON_REFUSAL;
  if (written.has('toolCall')) return StopReason.STOP_REASON_TOOL_CALLS;
  return written.has('refusal') ? StopReason.STOP_REASON_REFUSAL : StopReason.STOP_REASON_END;
}
