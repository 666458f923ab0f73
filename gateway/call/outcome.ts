// What is known of a call while it runs, and what is made of that when it ends: its ending by the written rule, and its report.
// Pure.
import { type Event, type Finished, type GenerateResponse, StopReason } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Call, Outcome as OutcomeCode, type RecordUsageRequest, UsageSource } from '#proto/metering/v1/metering.js';
import { toAppError } from '#client/errors/app-error.js';
import { AttemptLog } from './attempts.js';
import type { Readable } from './drain-after-disconnect.js';

const uint32Max = 4_294_967_295;

/** No usage yet. */
export const noTokens: TokenCounts = TokenCounts.fromPartial({});

/** What is known of a running answer. */
export class Progress implements Readable {
  /** What would be charged now. What is read on after the caller left counts only by the upstream's own figures for the whole. */
  tokens: TokenCounts = noTokens;
  outputTokensRead = 0;
  hasStarted = false;
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

  leave(): void {
    this.hasLeft = this.finished === undefined;
  }

  take(batch: GenerateResponse, nowMs: number): void {
    if (batch.failedAttempt !== undefined) this.attempts.fail(batch.failedAttempt);
    if (batch.usageSoFar !== undefined) {
      // The count may stand still: at the cap, or where the upstream told all of its figures at once. What is read on must be bounded all the same.
      const { outputTokens } = batch.usageSoFar;
      this.outputTokensRead = this.hasLeft ? Math.max(outputTokens, this.outputTokensRead + roughTokens(batch.events)) : outputTokens;
      if (!this.hasLeft) this.tokens = batch.usageSoFar;
    }
    for (const { event } of batch.events) {
      if (event?.$case === 'started') {
        this.hasStarted = true;
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

/** How a call ended. */
export interface Outcome {
  code: OutcomeCode;
  /** A short cause, for people. */
  detail: string;
  /** Nothing was delivered, so nothing is charged. */
  free: boolean;
}

/**
 * The written rule of every outcome (docs/charging.md). A finished answer is finished, whatever happened to its reader since; but one
 * that was only read on to its end was left.
 */
export function outcomeOf(progress: Progress, failure: unknown, hasLeft: boolean): Outcome {
  const { finished } = progress;
  if (finished !== undefined && progress.hasLeft)
    return { code: OutcomeCode.OUTCOME_CLIENT_DISCONNECTED, detail: finished.usageFault, free: false };
  if (finished !== undefined) {
    const isCapped = finished.stopReason === StopReason.STOP_REASON_MAX_TOKENS;
    return { code: isCapped ? OutcomeCode.OUTCOME_MAX_TOKENS : OutcomeCode.OUTCOME_COMPLETED, detail: finished.usageFault, free: false };
  }
  if (hasLeft || failure === undefined) return { code: OutcomeCode.OUTCOME_CLIENT_DISCONNECTED, detail: '', free: !progress.hasStarted };
  const { reason } = toAppError(failure);
  const hasOutput = progress.firstOutputAtMs !== undefined;
  // A whole answer leaves only when it is complete, so nothing of this one was delivered.
  const wasDelivered = hasOutput && progress.call.streaming;
  return { code: outcomeOfReason(reason, hasOutput), detail: reason, free: !wasDelivered };
}

function outcomeOfReason(reason: string, hasOutput: boolean): OutcomeCode {
  if (reason === 'upstream_timeout' || reason === 'deadline_exceeded') return OutcomeCode.OUTCOME_TIMEOUT;
  if (!reason.startsWith('upstream_') && reason !== 'context_length_exceeded') return OutcomeCode.OUTCOME_GATEWAY_ERROR;
  return hasOutput ? OutcomeCode.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT : OutcomeCode.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT;
}

/** The report of an ended call. */
export function reportOf(progress: Progress, outcome: Outcome, endedAtMs: number, storedAnswer: Buffer): RecordUsageRequest {
  const { call, finished, firstOutputAtMs, startedAtMs } = progress;
  return {
    call,
    tokens: progress.tokens,
    source: finished?.usageReported === true ? UsageSource.USAGE_SOURCE_REPORTED : UsageSource.USAGE_SOURCE_ESTIMATED,
    outcome: outcome.code,
    outcomeDetail: outcome.detail,
    firstOutputMs: firstOutputAtMs === undefined ? undefined : elapsed(startedAtMs, firstOutputAtMs),
    durationMs: elapsed(startedAtMs, endedAtMs),
    free: outcome.free,
    quarantined: finished !== undefined && finished.usageFault !== '',
    storedAnswer,
  };
}

/** What a record can hold, for the time of day may be set while a call runs. */
function elapsed(fromMs: number, toMs: number): number {
  return Math.min(uint32Max, Math.max(0, Math.trunc(toMs - fromMs)));
}
