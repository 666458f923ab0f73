import { describe, expect, it } from '@jest/globals';
import { Outcome } from '#proto/metering/v1/metering.js';
import {
  type CallEnd,
  type Delivery,
  decideOutcome,
  errorOutcomes,
  isFree,
  isFreeIfLost,
  isKnownOutcome,
  type KnownOutcome,
} from './outcomes.js';
import { type Reason, reasons } from '../errors/reasons.js';

const flags = [false, true];
const deliveries: Delivery[] = flags.flatMap((isAccepted) =>
  flags.flatMap((hasOutput) => flags.map((streaming) => ({ isAccepted, hasOutput, streaming }))),
);
const failures: (Reason | undefined)[] = [undefined, ...(Object.keys(reasons) as Reason[])];
/** Every way in which a call can end. */
const ends: CallEnd[] = deliveries.flatMap((delivery) =>
  flags.flatMap((isFinished) =>
    flags.flatMap((isCapped) =>
      flags.flatMap((hasDisconnected) => failures.map((failure) => ({ ...delivery, isFinished, isCapped, hasDisconnected, failure }))),
    ),
  ),
);

const failed = (failure: Reason, hasOutput = false): KnownOutcome =>
  decideOutcome({ isAccepted: hasOutput, hasOutput, streaming: true, isFinished: false, isCapped: false, hasDisconnected: false, failure });

describe('the outcome of a call', () => {
  it('is always one of the known outcomes', () => {
    for (const end of ends) expect(isKnownOutcome(decideOutcome(end))).toBe(true);
  });

  it('is a disconnect if the client disconnected before the end, whatever happened after it', () => {
    for (const end of ends.filter(({ hasDisconnected }) => hasDisconnected))
      expect(decideOutcome(end)).toBe(Outcome.OUTCOME_CLIENT_DISCONNECTED);
  });

  it('is a finished answer if the model finished it, whatever failed after it', () => {
    for (const end of ends.filter(({ hasDisconnected, isFinished }) => !hasDisconnected && isFinished))
      expect(decideOutcome(end)).toBe(end.isCapped ? Outcome.OUTCOME_MAX_TOKENS : Outcome.OUTCOME_COMPLETED);
  });

  it('is a disconnect if the answer is not drained and nothing failed', () => {
    for (const end of ends.filter(({ isFinished, failure }) => !isFinished && failure === undefined))
      expect(decideOutcome(end)).toBe(Outcome.OUTCOME_CLIENT_DISCONNECTED);
  });

  it.each<[string, readonly Reason[], KnownOutcome, KnownOutcome]>([
    ['a time limit', ['upstream_timeout', 'deadline_exceeded'], Outcome.OUTCOME_TIMEOUT, Outcome.OUTCOME_TIMEOUT],
    [
      'a request that cannot be served as it was sent',
      ['unsupported_field', 'invalid_request', 'context_length_exceeded', 'body_too_large', 'upstream_rejected'],
      Outcome.OUTCOME_REJECTED,
      Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT,
    ],
    [
      'an upstream',
      ['upstream_failed', 'upstream_overloaded', 'upstream_rate_limited', 'upstream_unavailable', 'model_unavailable'],
      Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT,
      Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT,
    ],
    [
      'the gateway',
      ['internal', 'overloaded', 'service_unavailable', 'call_closed', 'cancelled'],
      Outcome.OUTCOME_GATEWAY_ERROR,
      Outcome.OUTCOME_GATEWAY_ERROR,
    ],
  ])('names %s', (_who, causes, before, after) => {
    expect(causes.map((cause) => failed(cause))).toEqual(causes.map(() => before));
    expect(causes.map((cause) => failed(cause, true))).toEqual(causes.map(() => after));
  });

  it('is never the fault of the gateway where the client or the upstream is at fault', () => {
    for (const failure of Object.keys(reasons) as Reason[]) {
      if (
        failure.startsWith('upstream_') ||
        failure.startsWith('context_') ||
        failure === 'model_unavailable' ||
        failure === 'unsupported_field'
      )
        for (const hasOutput of flags) expect(failed(failure, hasOutput)).not.toBe(Outcome.OUTCOME_GATEWAY_ERROR);
    }
  });
});

describe('a call is free', () => {
  const free = (outcome: KnownOutcome) => deliveries.filter((delivery) => isFree(outcome, delivery));

  it.each([Outcome.OUTCOME_COMPLETED, Outcome.OUTCOME_MAX_TOKENS] as const)('never when the model finished (%i)', (outcome) => {
    expect(free(outcome)).toEqual([]);
  });

  it.each([Outcome.OUTCOME_REJECTED, Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT] as const)('always before output (%i)', (outcome) => {
    expect(free(outcome)).toEqual(deliveries);
  });

  it('after a disconnect, if no upstream had accepted it', () => {
    expect(free(Outcome.OUTCOME_CLIENT_DISCONNECTED)).toEqual(deliveries.filter(({ isAccepted }) => !isAccepted));
  });

  it.each([
    Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT,
    Outcome.OUTCOME_TIMEOUT,
    Outcome.OUTCOME_GATEWAY_ERROR,
    Outcome.OUTCOME_GATEWAY_LOST,
  ] as const)('after a failure, unless a stream delivered output (%i)', (outcome) => {
    expect(free(outcome)).toEqual(deliveries.filter(({ hasOutput, streaming }) => !hasOutput || !streaming));
  });

  it('if its gateway is lost, unless it is streamed', () => {
    expect([isFreeIfLost(false), isFreeIfLost(true)]).toEqual([true, false]);
  });
});

it('counts every failure as an error, but neither a disconnect nor an output cap', () => {
  const all = Object.values(Outcome).filter((outcome): outcome is KnownOutcome => typeof outcome === 'number' && isKnownOutcome(outcome));
  const none = [Outcome.OUTCOME_COMPLETED, Outcome.OUTCOME_MAX_TOKENS, Outcome.OUTCOME_CLIENT_DISCONNECTED];
  expect([...errorOutcomes].sort()).toEqual(all.filter((outcome) => !none.includes(outcome as never)).sort());
  expect(all).toHaveLength(9);
});
