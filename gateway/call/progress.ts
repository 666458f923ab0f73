// Tracks what is known about a call while it runs. Pure, except for the figures that it keeps.
import type { Event, Finished, GenerateResponse } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { Call } from '#proto/metering/v1/metering.js';
import { AttemptLog } from './attempts.js';
import type { Readable } from './drain-after-disconnect.js';

/** No usage yet. */
export const noTokens: TokenCounts = TokenCounts.fromPartial({});

/** Holds what is known about a running answer. */
export class Progress implements Readable {
  /** The usage that would be charged now. Output read after the client disconnected counts only by the upstream's own total figures. */
  tokens: TokenCounts = noTokens;
  outputTokensRead = 0;
  /** Reports whether the model began to answer while the client was connected. */
  hasStarted = false;
  /** Reports whether the client disconnected before the model finished. */
  hasDisconnected = false;
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
  noteDisconnect(): void {
    this.hasDisconnected = this.finished === undefined;
  }

  /** Notes what the model sent. */
  take(batch: GenerateResponse, nowMs: number): void {
    if (batch.failedAttempt !== undefined) this.attempts.fail(batch.failedAttempt);
    if (batch.usageSoFar !== undefined) {
      // The count may not change: at the cap, or if the upstream reported all of its figures at once. Reading must still be bounded.
      const { outputTokens } = batch.usageSoFar;
      this.outputTokensRead = this.hasDisconnected
        ? Math.max(outputTokens, this.outputTokensRead + roughTokens(batch.events))
        : outputTokens;
      if (!this.hasDisconnected) this.tokens = batch.usageSoFar;
    }
    for (const { event } of batch.events) {
      if (event?.$case === 'started') {
        this.hasStarted ||= !this.hasDisconnected;
        this.attempts.answer(event.value);
        if (event.value.target !== undefined) {
          this.call.upstreamId = event.value.target.upstreamId;
          this.call.upstreamModel = event.value.target.upstreamModel;
        }
      } else if (event?.$case === 'blockStart' || event?.$case === 'blockDelta') {
        this.firstOutputAtMs ??= nowMs;
      } else if (event?.$case === 'finished') {
        this.finished = event.value;
        if (event.value.usage !== undefined && (event.value.usageReported || !this.hasDisconnected)) this.tokens = event.value.usage;
      }
    }
  }
}

const charsPerToken = 4;

/** Estimates the number of tokens in the deltas. */
function roughTokens(events: readonly Event[]): number {
  const chars = events.reduce((sum, { event }) => sum + (event?.$case === 'blockDelta' ? (event.value.delta?.value.length ?? 0) : 0), 0);
  return Math.ceil(chars / charsPerToken);
}
