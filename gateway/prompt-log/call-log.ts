// Collects the prompt and the answer of one call whose project logs them.
import { Event, StopReason } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Call, PromptLog, type StorePromptLogsRequest_Entry as Entry } from '#proto/metering/v1/metering.js';
import type { Collector, Format, ParsedCall } from '../formats/format.js';
import type { JsonBody } from '../http/middleware/json-body.js';
import { type KeptBody, keptBody, keptBytesMax } from './kept-body.js';

const cutOff = Event.fromPartial({ event: { $case: 'finished', value: { stopReason: StopReason.STOP_REASON_MAX_TOKENS } } });
/** What an event without text counts for. */
const eventChars = 64;

/** The log of one call. The bodies are in the format of the client. */
export class CallLog {
  private call: Call | undefined;
  private createCollector: (() => Collector) | undefined;
  private collector: Collector | undefined;
  private request: KeptBody = { text: '', isTruncated: false };
  private tokens = TokenCounts.fromPartial({});
  private chars = 0;
  private isFinished = false;
  private isDropped = false;

  /** `onEnd` takes the log over when the call has ended. */
  constructor(
    private body: JsonBody | undefined,
    private readonly format: Format,
    private parsed: ParsedCall | undefined,
    private readonly days: number,
    private readonly onEnd: (log: CallLog) => void,
  ) {}

  /** Notes the admitted call, and what is kept of its request. */
  begin(call: Call, admitted: { readonly modelId: string; readonly startedAtMs: number }): void {
    call.promptLogDays = this.days;
    this.call = call;
    this.request = keptBody(this.body!.value, this.body!.whole);
    const { request, includeUsage, echo } = this.parsed!;
    // A log may wait for minutes, and a prompt may be much longer than what is kept of it.
    this.body = this.parsed = undefined;
    if (request.embedding !== undefined) return;
    const context = { requestId: call.id, model: admitted.modelId, createdAtMs: admitted.startedAtMs, includeUsage, echo };
    this.createCollector = () => this.format.collector(context);
  }

  /** Adds the next events of the answer, as many as can be kept. */
  take(events: readonly Event[]): void {
    if (this.createCollector === undefined) return;
    this.collector ??= this.createCollector();
    for (const event of events) {
      const isEnd = event.event?.$case === 'finished';
      this.isFinished ||= isEnd;
      if (this.chars > keptBytesMax && !isEnd) continue;
      this.chars += charsOf(event);
      this.collector.push([event]);
    }
  }

  /** Drops the events: the answer broke off, and another target begins it again. */
  restart(): void {
    this.collector = undefined;
    this.chars = 0;
    this.isFinished = false;
  }

  /** Hands the log over. The answer is rendered later, when its client need not wait for it. */
  end(tokens: TokenCounts): void {
    this.tokens = tokens;
    this.onEnd(this);
  }

  /** About what the log occupies, in characters. */
  get size(): number {
    return this.request.text.length + this.chars;
  }

  /** Drops the bodies; the remaining log only says that they are not kept. */
  drop(): void {
    this.isDropped = true;
    this.request = { text: '', isTruncated: false };
    this.restart();
  }

  /** Returns what is sent to metering. */
  entry(): Entry {
    const { id: callId, accountId, projectId, startedAtMs } = this.call!;
    return { callId, accountId, projectId, startedAtMs, days: this.days, log: this.isDropped ? undefined : this.log() };
  }

  private log(): PromptLog {
    const isPartial = this.collector !== undefined && !this.isFinished;
    if (isPartial) this.collector!.push([cutOff]);
    const answer = this.collector === undefined ? { text: '', isTruncated: false } : keptBody(this.collector.finish(this.tokens));
    return {
      requestBody: this.request.text,
      answerBody: answer.text,
      requestTruncated: this.request.isTruncated,
      answerTruncated: answer.isTruncated || this.chars > keptBytesMax,
      answerPartial: isPartial,
    };
  }
}

function charsOf({ event, extraJson }: Event): number {
  const text = event?.$case === 'blockDelta' ? event.value.delta?.value : event?.$case === 'foreign' ? event.value.json : '';
  return eventChars + (text?.length ?? 0) + (extraJson?.length ?? 0);
}
