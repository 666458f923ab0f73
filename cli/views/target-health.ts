// The output of the health of targets.
import {
  EjectionCause,
  type ListTargetHealthResponse,
  OverrideMode,
  type TargetOverride,
  TargetState,
} from '#proto/inference/v1/inference.js';
import { instant, instantJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

const states = wordsOf<TargetState>(TargetState, 'TARGET_STATE_');
const modes = wordsOf<OverrideMode>(OverrideMode, 'OVERRIDE_MODE_');

const causes = wordsOf<EjectionCause>(EjectionCause, 'EJECTION_CAUSE_');

/** A target that is out of service, in one process or, if it is drained, in all. */
export interface TargetStanding {
  readonly upstreamId: string;
  readonly upstreamModel: string;
  /** Empty for the target itself. */
  readonly credentialId: string;
  readonly state: string;
  /** Its ejection has ended, and the next call to it is its trial. */
  readonly isTrialDue: boolean;
  /** Why it is ejected; empty if it is not. */
  readonly cause: string;
  readonly failures: number;
  /** 0 if it never changed its state. */
  readonly sinceMs: bigint;
  readonly latencyMs?: number | undefined;
  readonly recentCalls: number;
  readonly recentFailures: number;
  readonly reason: string;
  /** 0 for a target that is drained or in service. */
  readonly untilMs: bigint;
  readonly instance: string;
}

/** Returns the drained targets and credentials, and then the others that are out of service. */
export function targetStandings({ targets, overrides }: ListTargetHealthResponse, nowMs: number): TargetStanding[] {
  const drained = overrides.filter(({ mode }) => mode === OverrideMode.OVERRIDE_MODE_DRAIN);
  return [
    ...drained.map((target) => ({
      ...target,
      state: 'drained',
      isTrialDue: false,
      cause: '',
      failures: 0,
      sinceMs: target.setAtMs,
      recentCalls: 0,
      recentFailures: 0,
      reason: '',
      untilMs: 0n,
      instance: 'all',
    })),
    ...targets.map((target) => ({
      ...target,
      state: states.of(target.state),
      isTrialDue: target.state === TargetState.TARGET_STATE_EJECTED && target.untilMs <= nowMs,
      cause: causeOf(target.cause),
    })),
  ];
}

function causeOf(cause: EjectionCause): string {
  return cause === EjectionCause.EJECTION_CAUSE_UNSPECIFIED ? '' : causes.of(cause);
}

function untilText({ state, isTrialDue, untilMs }: TargetStanding): string {
  if (isTrialDue) return 'next call';
  if (untilMs !== 0n) return instant(untilMs);
  return state === 'drained' ? 'returned' : '';
}

/** One of them. */
export const targetHealthView: View<TargetStanding> = {
  json: ({ upstreamId, upstreamModel, credentialId, state, cause, failures, reason, sinceMs, untilMs, instance, ...recent }) => ({
    upstream_id: upstreamId,
    upstream_model: upstreamModel,
    credential: credentialId === '' ? null : credentialId,
    state,
    cause: cause === '' ? null : cause,
    failures,
    reason: reason === '' ? null : reason,
    since: sinceMs === 0n ? null : instantJson(sinceMs),
    until: untilMs === 0n ? null : instantJson(untilMs),
    latency_ms: recent.latencyMs ?? null,
    recent_calls: recent.recentCalls,
    recent_failures: recent.recentFailures,
    process: instance,
  }),
  columns: [
    { title: 'upstream', text: ({ upstreamId }) => upstreamId },
    { title: 'model', text: ({ upstreamModel }) => upstreamModel },
    { title: 'credential', text: ({ credentialId }) => credentialId },
    { title: 'state', text: ({ state, isTrialDue }) => (isTrialDue ? 'trial due' : state) },
    { title: 'why', text: ({ cause }) => cause.replaceAll('_', ' ') },
    { title: 'until', text: untilText },
    { title: 'failures', text: ({ failures }) => String(failures), align: 'right' },
    { title: 'recent', text: ({ recentCalls, recentFailures }) => `${recentFailures} of ${recentCalls}`, align: 'right' },
    { title: 'first token', text: ({ latencyMs }) => (latencyMs === undefined ? '' : `${latencyMs}ms`), align: 'right' },
    { title: 'last failure', text: ({ reason }) => reason },
    { title: 'process', text: ({ instance }) => instance },
  ],
};

/** The operator's override of a target. */
export const overrideView: View<TargetOverride> = {
  json: ({ upstreamId, upstreamModel, credentialId, mode, setAtMs, untilMs }) => ({
    upstream_id: upstreamId,
    upstream_model: upstreamModel,
    credential: credentialId === '' ? null : credentialId,
    mode: modes.of(mode),
    set_at: instantJson(setAtMs),
    until: untilMs === 0n ? null : instantJson(untilMs),
  }),
  columns: [
    { title: 'upstream', text: ({ upstreamId }) => upstreamId },
    { title: 'model', text: ({ upstreamModel }) => upstreamModel },
    { title: 'credential', text: ({ credentialId }) => credentialId },
    { title: 'override', text: ({ mode }) => modes.of(mode) },
    { title: 'until', text: ({ untilMs }) => (untilMs === 0n ? '' : instant(untilMs)) },
  ],
};
