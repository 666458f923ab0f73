// How calls end and what is charged for each outcome: the rule of docs/charging.md, in one table. Pure.
import { Status } from '#client/errors/status.js';
import { Outcome } from '#proto/metering/v1/metering.js';
import { type Reason, reasons } from '../errors/reasons.js';

/**
 * What is charged: all tokens; nothing unless an upstream accepted the call; nothing unless output was delivered; or nothing at all.
 * A whole answer (one that is not streamed) is delivered only when it is complete and on record.
 */
export type ChargeRule = 'all' | 'if_accepted' | 'if_delivered' | 'never';

/** An outcome that this version knows. */
export type KnownOutcome = Exclude<Outcome, Outcome.OUTCOME_UNSPECIFIED | Outcome.UNRECOGNIZED>;

/** The rule of one outcome. */
export interface OutcomeRule {
  readonly charged: ChargeRule;
  /** Whether sums and lists of errors count the call as failed. A client disconnect and an output cap are not errors. */
  readonly isError: boolean;
}

/** The rule of every outcome. */
export const outcomeRules: Readonly<Record<KnownOutcome, OutcomeRule>> = {
  [Outcome.OUTCOME_COMPLETED]: { charged: 'all', isError: false },
  [Outcome.OUTCOME_MAX_TOKENS]: { charged: 'all', isError: false },
  [Outcome.OUTCOME_CLIENT_DISCONNECTED]: { charged: 'if_accepted', isError: false },
  [Outcome.OUTCOME_REJECTED]: { charged: 'never', isError: true },
  [Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT]: { charged: 'never', isError: true },
  [Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT]: { charged: 'if_delivered', isError: true },
  [Outcome.OUTCOME_TIMEOUT]: { charged: 'if_delivered', isError: true },
  [Outcome.OUTCOME_GATEWAY_LOST]: { charged: 'if_delivered', isError: true },
  [Outcome.OUTCOME_GATEWAY_ERROR]: { charged: 'if_delivered', isError: true },
};

/** Returns whether this version knows the outcome. */
export function isKnownOutcome(outcome: Outcome): outcome is KnownOutcome {
  return Object.hasOwn(outcomeRules, outcome);
}

/** The outcomes that sums and lists of errors count. */
export const errorOutcomes: readonly KnownOutcome[] = Object.keys(outcomeRules)
  .map((outcome): Outcome => Number(outcome))
  .filter(isKnownOutcome)
  .filter((outcome) => outcomeRules[outcome].isError);

/** How far an answer got. */
export interface Delivery {
  /** An upstream accepted the call: its status line arrived. From then on the upstream bills for the prompt. */
  readonly isAccepted: boolean;
  /** Output has begun. */
  readonly hasOutput: boolean;
  /** The answer is sent as it is generated, not when it is complete. */
  readonly streaming: boolean;
}

/** Returns whether a call that ended this way costs nothing, whatever tokens it used. */
export function isFree(outcome: KnownOutcome, { isAccepted, hasOutput, streaming }: Delivery): boolean {
  switch (outcomeRules[outcome].charged) {
    case 'all':
      return false;
    case 'if_accepted':
      return !isAccepted;
    case 'if_delivered':
      return !(hasOutput && streaming);
    case 'never':
      return true;
  }
}

/** Returns whether a call costs nothing if its gateway vanishes now. What a lost stream delivered is in its checkpoint. */
export function isFreeIfLost(streaming: boolean): boolean {
  return isFree(Outcome.OUTCOME_GATEWAY_LOST, { isAccepted: true, hasOutput: true, streaming });
}

/** The facts about an ended call that determine its outcome. */
export interface CallEnd extends Delivery {
  /** The model finished its answer. */
  readonly isFinished: boolean;
  /** It finished because the output cap was reached. */
  readonly isCapped: boolean;
  /** The client disconnected before the model finished. */
  readonly hasDisconnected: boolean;
  /** The reason of the error that ended the call; undefined if no error did. */
  readonly failure: Reason | undefined;
}

/** Returns the outcome of a call. A finished answer is finished, even if the client disconnects after that. */
export function decideOutcome({ isFinished, isCapped, hasDisconnected, hasOutput, failure }: CallEnd): KnownOutcome {
  if (hasDisconnected || (!isFinished && failure === undefined)) return Outcome.OUTCOME_CLIENT_DISCONNECTED;
  if (isFinished) return isCapped ? Outcome.OUTCOME_MAX_TOKENS : Outcome.OUTCOME_COMPLETED;
  return outcomeOfFailure(failure!, hasOutput);
}

function outcomeOfFailure(reason: Reason, hasOutput: boolean): KnownOutcome {
  if (reason === 'upstream_timeout' || reason === 'deadline_exceeded') return Outcome.OUTCOME_TIMEOUT;
  const isRejection = reasons[reason] === Status.INVALID_ARGUMENT;
  if (isRejection && !hasOutput) return Outcome.OUTCOME_REJECTED;
  const isUpstream = reason.startsWith('upstream_') || reason === 'model_unavailable';
  if (!isRejection && !isUpstream) return Outcome.OUTCOME_GATEWAY_ERROR;
  return hasOutput ? Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT : Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT;
}
