// The attempts of a call as one column of its record: JSON, one list per attempt, in which default values at the end
// are omitted. The usual call's is [[3]]: one attempt, 3 ms after the start, at the record's own upstream, which responded. Pure.
import type { Attempt, Call } from '#proto/metering/v1/metering.js';

type Upstream = Pick<Call, 'upstreamId' | 'upstreamModel'>;

/** In the order of the column; each may be missing, together with all that follow. */
type Parts = [
  offsetMs: number,
  isUnanswered?: number,
  reason?: string,
  durationMs?: number | null,
  httpStatus?: number,
  upstreamId?: string,
  upstreamModel?: string,
  requestId?: string,
  choice?: number,
  credentialId?: string,
];

/** Returns what is stored; null for no attempts. */
export function attemptText(call: Pick<Call, 'attempts'> & Upstream): string | null {
  if (call.attempts.length === 0) return null;
  return JSON.stringify(call.attempts.map((attempt) => partsOf(attempt, call)));
}

/** Returns the attempts stored in a record with this upstream. */
export function attemptsOfText(text: string | undefined, call: Upstream): Attempt[] {
  return text === undefined ? [] : (JSON.parse(text) as Parts[]).map((parts) => attemptOf(parts, call));
}

function partsOf(attempt: Attempt, call: Upstream): Parts {
  const { offsetMs, answered, reason, durationMs, httpStatus, upstreamId, upstreamModel, upstreamRequestId, choice, credentialId } =
    attempt;
  const isOwn = upstreamId === call.upstreamId && upstreamModel === call.upstreamModel;
  const parts: Parts = [
    offsetMs,
    Number(!answered),
    reason,
    durationMs ?? null,
    httpStatus,
    isOwn ? '' : upstreamId,
    isOwn ? '' : upstreamModel,
    upstreamRequestId,
    choice ?? 0,
    credentialId ?? '',
  ];
  // A duration of 0 is not the default: a missing one means until the end of the call.
  while (parts.length > 1 && !parts.at(-1) && !(parts.length === 4 && parts[3] === 0)) parts.pop();
  return parts;
}

function attemptOf(
  [
    offsetMs,
    isUnanswered = 0,
    reason = '',
    durationMs = null,
    httpStatus = 0,
    upstreamId = '',
    upstreamModel = '',
    upstreamRequestId = '',
    choice = 0,
    credentialId = '',
  ]: Parts,
  call: Upstream,
): Attempt {
  const isOwn = upstreamId === '' && upstreamModel === '';
  return {
    upstreamId: isOwn ? call.upstreamId : upstreamId,
    upstreamModel: isOwn ? call.upstreamModel : upstreamModel,
    offsetMs,
    ...(durationMs === null ? {} : { durationMs }),
    answered: isUnanswered === 0,
    reason,
    httpStatus,
    upstreamRequestId,
    ...(choice === 0 ? {} : { choice }),
    ...(credentialId === '' ? {} : { credentialId }),
  };
}
