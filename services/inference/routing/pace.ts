// Paces the calls to upstreams whose vendor limits requests and tokens per minute, so that a target whose allowance is used up is passed over
// before the vendor refuses. Counts the calls of this process, in all of its threads.
import type { Clock } from '#kit/clock.js';
import { subjectHash, type WindowSubject, type WindowTable } from '#kit/limits/window-table.js';
import type { UpstreamLimits } from '#proto/inference/v1/inference.js';

/** What a vendor allows one credential in 60 seconds. */
export type Allowance = Pick<UpstreamLimits, 'requestsPerMinute' | 'tokensPerMinute'>;

/** A credential of an upstream whose calls are paced. */
export interface Paced {
  readonly upstreamId: string;
  /** Empty for an upstream without credentials. */
  readonly credentialId: string;
  readonly allowance: Allowance;
}

/** A call that was counted. Exactly one of the methods must be called, once. */
export interface PacedCall {
  /** Ends the call with the tokens that it used; undefined keeps the estimate. */
  end(usedTokens: number | undefined): void;
  /** Ends a call that was not sent to the vendor, so that it no longer counts. */
  cancel(): void;
}

/** Counts calls against what vendors allow. */
export class Pace {
  constructor(
    private readonly table: WindowTable,
    private readonly clock: Clock,
  ) {}

  /** Returns the time until the vendor would admit a call of about this many tokens; 0 if it would now. */
  waitMs(paced: Paced, tokens: number): number {
    const subject = subjectOf(paced);
    return this.table.waitMs(subject, demandOf(subject, tokens), this.clock.monotonicMs()) ?? 0;
  }

  /** Counts a call, or returns the time until the vendor would admit it. */
  take(paced: Paced, tokens: number): PacedCall | number {
    const subject = subjectOf(paced);
    const demand = demandOf(subject, tokens);
    const takenAtMs = this.clock.monotonicMs();
    const checked = this.table.take([subject], demand, takenAtMs);
    if (checked.refusal !== undefined) return checked.refusal.retryAfterMs ?? 1;
    return {
      end: (used) => checked.end(used ?? demand.tokens, this.clock.monotonicMs()),
      cancel: () => this.table.cancel([subject], { ...demand, takenAtMs }, this.clock.monotonicMs()),
    };
  }
}

function subjectOf({ upstreamId, credentialId, allowance }: Paced): WindowSubject {
  const hash = subjectHash(`upstream ${upstreamId} ${credentialId}`);
  return { hash, requests: allowance.requestsPerMinute, tokens: allowance.tokensPerMinute, concurrent: undefined };
}

/** A prompt that is larger than the allowance of a minute takes all of it: only the vendor knows whether it is accepted. */
function demandOf({ tokens: max }: WindowSubject, tokens: number): { tokens: number } {
  return { tokens: max === undefined ? tokens : Math.min(tokens, max) };
}
