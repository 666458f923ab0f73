// Determines how a call ended, by the rule in proto/rules/money/outcomes.ts, and builds the report for metering. Pure.
import { StopReason } from '#proto/inference/v1/inference.js';
import { Outcome, type RecordUsageRequest, type StoredResponse, UsageSource } from '#proto/metering/v1/metering.js';
import { toAppError } from '#client/errors/app-error.js';
import { type Delivery, decideOutcome, isFree } from '#rules/money/outcomes.js';
import type { Progress } from '../response/progress.js';

const uint32Max = 4_294_967_295;

/** How a call ended. */
export interface CallOutcome {
  readonly code: Outcome;
  /** A short cause, for readers of the record. */
  readonly detail: string;
  /** Nothing is charged. */
  readonly free: boolean;
}

/** Returns how a call ended. `failure` is the error that ended it, undefined if none did. */
export function outcomeOf(progress: Progress, failure: unknown): CallOutcome {
  const { finished, hasDisconnected } = progress;
  const delivery = deliveryOf(progress);
  const reason = failure === undefined ? undefined : toAppError(failure).reason;
  const code = decideOutcome({
    ...delivery,
    isFinished: finished !== undefined,
    isCapped: finished?.stopReason === StopReason.STOP_REASON_MAX_TOKENS,
    hasDisconnected,
    failure: reason,
  });
  const detail = finished?.usageFault ?? (code === Outcome.OUTCOME_CLIENT_DISCONNECTED ? '' : (reason ?? ''));
  return { code, detail, free: isFree(code, delivery) };
}

function deliveryOf({ isAccepted, firstOutputAtMs, call }: Progress): Delivery {
  return { isAccepted, hasOutput: firstOutputAtMs !== undefined, streaming: call.streaming };
}

/** Returns the report of an ended call, as though it had been checkpointed. */
export function reportOf(
  progress: Progress,
  outcome: CallOutcome,
  endedAtMs: number,
  storedAnswer: Buffer,
  storedResponse?: StoredResponse,
): RecordUsageRequest {
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
    storedResponse,
    neverCheckpointed: false,
    chargeOnly: true,
  };
}

/** Returns what a record can hold. */
function elapsed(fromMs: number, toMs: number): number {
  return Math.min(uint32Max, Math.max(0, Math.trunc(toMs - fromMs)));
}

/**
 * Returns the report of a call whose end was withheld from the client, because it could not be recorded in time. Nothing was delivered of
 * a whole answer, so it ends by a fault of the gateway and is free; what a stream delivered is charged as it was reported.
 */
export function withheld(request: RecordUsageRequest): RecordUsageRequest {
  const isFinished = request.outcome === Outcome.OUTCOME_COMPLETED || request.outcome === Outcome.OUTCOME_MAX_TOKENS;
  const outcome = Outcome.OUTCOME_GATEWAY_ERROR;
  const free = isFree(outcome, { isAccepted: true, hasOutput: true, streaming: request.call!.streaming });
  if (!free || !isFinished) return request;
  return { ...request, outcome, outcomeDetail: 'service_unavailable', free, storedAnswer: Buffer.alloc(0), storedResponse: undefined };
}
