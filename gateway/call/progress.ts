// What is known of a call while it runs. Pure, but for the figures that it keeps.
import type { Event, Finished, GenerateResponse } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { Call } from '#proto/metering/v1/metering.js';
import { AttemptLog } from './attempts.js';
import type { Readable } from './drain-after-disconnect.js';

/** No usage yet. */
export const noTokens: TokenCounts = TokenCounts.fromPartial({});

/** What is known of a running answer. */
export class Progress implements Readable {
  /** What would be charged now. What is read after the client disconnected counts only by the upstream's own figures for the whole. */
  tokens: TokenCounts = noTokens;
  outputTokensRead = 0;
  /** The model began to answer while the client was there. */
  hasStarted = false;
  /** The client disconnected before the model finished. */
  hasLeft = false;
  firstOutputAtMs: number | undefined;
  finished: Finished | undefined;
  readonly attempts: AttemptLog;

  constructor(
    readonly call: Call,
    readonly startedAtMs: number,
  ) {
    this.attempts = new AttemptLog(call.attempts);
  }

  /** Notes that the client disconnected. */
  leave(): void {
    this.hasLeft = this.finished === undefined;
  }

  /** Notes what the model sent. */
  take(batch: GenerateResponse, nowMs: number): void {
    if (batch.failedAttempt !== undefined) this.attempts.fail(batch.failedAttempt);
    if (batch.usageSoFar !== undefined) {
      // The count may stand still: at the cap, or where the upstream reported all of its figures at once. Reading must be bounded all the same.
      const { outputTokens } = batch.usageSoFar;
      this.outputTokensRead = this.hasLeft ? Math.max(outputTokens, this.outputTokensRead + roughTokens(batch.events)) : outputTokens;
      if (!this.hasLeft) this.tokens = batch.usageSoFar;
    }
    for (const { event } of batch.events) {
      if (event?.$case === 'started') {
        this.hasStarted ||= !this.hasLeft;
        this.attempts.answer(event.value);
        if (event.value.target !== undefined) {
          this.call.upstreamId = event.value.target.upstreamId;
          this.call.upstreamModel = event.value.target.upstreamModel;
        }
      } else if (event?.$case === 'blockStart' || event?.$case === 'blockDelta') {
        this.firstOutputAtMs ??= nowMs;
      } else if (event?.$case === 'finished') {
        this.finished = event.value;
        if (event.value.usage !== undefined && (event.value.usageReported || !this.hasLeft)) this.tokens = event.value.usage;
      }
    }
  }
}

const charsPerToken = 4;

/** About how many tokens the deltas have. */
function roughTokens(events: readonly Event[]): number {
  const chars = events.reduce((sum, { event }) => sum + (event?.$case === 'blockDelta' ? (event.value.delta?.value.length ?? 0) : 0), 0);
  return Math.ceil(chars / charsPerToken);
}
