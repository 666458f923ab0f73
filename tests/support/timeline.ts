// Checks refusals from the outside. What every call was granted and charged, and when, bounds the amount that can have been available
// at any instant. A refusal must name an amount that is within these bounds and was not enough.
import type { AppError } from '#client/errors/app-error.js';

const never = Number.POSITIVE_INFINITY;

/** One call as observed by its caller; instants are of `performance.now()`. */
interface Seen {
  readonly keyId: string;
  readonly askedMs: number;
  answeredMs: number;
  grantedNanoUsd: bigint;
  outcomeMs: number;
  endedMs: number;
  capturedNanoUsd: bigint;
}

interface Refused {
  readonly call: Seen;
  readonly reason: string;
  readonly details: Readonly<Record<string, string>>;
  readonly leastNanoUsd: bigint;
}

/** Receives the progress of a call. */
export interface CallObserver {
  granted(amountNanoUsd: bigint): void;
  refused(error: AppError, leastNanoUsd: bigint): void;
  ends(): void;
  ended(capturedNanoUsd: bigint): void;
}

/** All calls on one account whose keys all have the same limit. */
export class Timeline {
  private readonly calls: Seen[] = [];
  private readonly refusals: Refused[] = [];

  constructor(
    private readonly creditedNanoUsd: bigint,
    private readonly limitNanoUsd: bigint,
  ) {}

  /** Records that a call is about to request its hold. */
  asks(keyId: string): CallObserver {
    const call: Seen = {
      keyId,
      askedMs: performance.now(),
      answeredMs: never,
      grantedNanoUsd: 0n,
      outcomeMs: never,
      endedMs: never,
      capturedNanoUsd: 0n,
    };
    this.calls.push(call);
    return {
      granted: (amountNanoUsd) => {
        call.answeredMs = performance.now();
        call.grantedNanoUsd = amountNanoUsd;
      },
      refused: ({ reason, details }, leastNanoUsd) => {
        call.answeredMs = performance.now();
        this.refusals.push({ call, reason, details, leastNanoUsd });
      },
      ends: () => void (call.outcomeMs = performance.now()),
      ended: (capturedNanoUsd) => {
        call.endedMs = performance.now();
        call.capturedNanoUsd = capturedNanoUsd;
      },
    };
  }

  /** Returns how many calls were refused, and the refusals that are wrong. To be called when all calls have ended. */
  judge(): { refusedCount: number; wrong: string[] } {
    return {
      refusedCount: this.refusals.length,
      wrong: this.refusals.map((refusal) => this.faultOf(refusal)).filter((fault) => fault !== undefined),
    };
  }

  private faultOf({ call, reason, details, leastNanoUsd }: Refused): string | undefined {
    const ofKey = reason === 'key_limit_reached';
    const wholeNanoUsd = ofKey ? this.limitNanoUsd : this.creditedNanoUsd;
    const { low, high } = this.usedDuring(call, ofKey ? call.keyId : undefined);
    const named = BigInt(details['available_nano_usd']!);
    const text = `${reason}: ${leastNanoUsd} asked, ${named} named, between ${wholeNanoUsd - high} and ${wholeNanoUsd - low} there`;
    if (BigInt(details['needed_nano_usd']!) !== leastNanoUsd) return `${text}: a different amount was needed`;
    if (named >= leastNanoUsd) return `${text}: the available amount was enough`;
    if (reason === 'balance_empty' && named + BigInt(details['held_nano_usd']!) >= leastNanoUsd) return `${text}: calls in flight held it`;
    if (named > wholeNanoUsd - low || named < wholeNanoUsd - high) return `${text}: that amount cannot have been available`;
    return undefined;
  }

  /** Returns the least and the most that can have been spent and held at any instant between a call's request and its response. */
  private usedDuring({ askedMs, answeredMs }: Seen, keyId: string | undefined): { low: bigint; high: bigint } {
    let low = 0n;
    let high = 0n;
    for (const other of this.calls) {
      if (keyId !== undefined && other.keyId !== keyId) continue;
      const amounts: bigint[] = [];
      if (other.answeredMs > askedMs) amounts.push(0n);
      if (other.askedMs < answeredMs && other.endedMs > askedMs) amounts.push(other.grantedNanoUsd);
      if (other.outcomeMs < answeredMs) amounts.push(other.capturedNanoUsd);
      low += amounts.reduce((least, amount) => (amount < least ? amount : least), amounts[0] ?? 0n);
      high += amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
    }
    return { low, high };
  }
}
