// Renders the upstream attempts of a call as JSON: their outcomes for every reader of the record, their upstreams for operators only.
import { TargetChoice } from '#proto/inference/v1/inference.js';
import type { Attempt, UsageRecord } from '#proto/metering/v1/metering.js';
import type { attemptOutcomes } from '../formats/account-schema.js';

interface OperatorFields {
  readonly upstream: { readonly id: string; readonly model: string };
  readonly http_status: number | null;
  readonly upstream_request_id: string | null;
  readonly chosen_by: ReturnType<typeof chosenBy>;
  readonly credential: string | null;
}

/** An attempt as JSON. */
interface RenderedAttempt extends Partial<OperatorFields> {
  readonly number: number;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly outcome: (typeof attemptOutcomes)[number];
  readonly reason: string | null;
}

/** Returns the attempts in order: what an account's members and keys see, or with `forOperators` everything that is recorded. */
export function renderAttempts({ call, durationMs }: UsageRecord, forOperators = false): RenderedAttempt[] {
  const { attempts, startedAtMs } = call!;
  return attempts.map((attempt, index) => ({
    number: index + 1,
    started_at: new Date(Number(startedAtMs) + attempt.offsetMs).toISOString(),
    // The last one lasts until the call ends.
    duration_ms: attempt.durationMs ?? Math.max(0, durationMs - attempt.offsetMs),
    outcome: outcomeOf(attempt),
    reason: attempt.reason === '' ? null : attempt.reason,
    ...(forOperators ? operatorFields(attempt) : {}),
  }));
}

function outcomeOf({ answered, reason }: Attempt): (typeof attemptOutcomes)[number] {
  if (answered) return reason === '' ? 'answered' : 'broke_off';
  return reason === '' ? 'abandoned' : 'failed';
}

function chosenBy(choice: TargetChoice | undefined): 'weight' | 'prefix' | 'hedge' {
  if (choice === TargetChoice.TARGET_CHOICE_HEDGE) return 'hedge';
  return choice === TargetChoice.TARGET_CHOICE_PREFIX ? 'prefix' : 'weight';
}

function operatorFields({ upstreamId, upstreamModel, httpStatus, upstreamRequestId, choice, credentialId }: Attempt): OperatorFields {
  return {
    upstream: { id: upstreamId, model: upstreamModel },
    http_status: httpStatus === 0 ? null : httpStatus,
    upstream_request_id: upstreamRequestId === '' ? null : upstreamRequestId,
    chosen_by: chosenBy(choice),
    credential: credentialId ?? null,
  };
}
