// Holds whose outcome is unknown because the ledger did not answer: each is released, again and again, until the ledger answers,
// so that no funds stay held for a call that never ran.
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import { Outage } from '../recording/outage.js';
import type { GatewayPeers } from '../../peers.js';

/** Beyond this number, a hold is left to expire. */
const holdsMax = 10_000;
/** Concurrent releases. */
const concurrency = 32;
const pauseMsMin = 100;
const pauseMsMax = 2000;
const retryAfterMs = 2000;

/** A hold that may or may not exist. */
interface UnknownHold {
  readonly holdId: string;
  readonly accountId: string;
}

interface WaitingHold extends UnknownHold {
  /** By the monotonic clock. */
  readonly expiresAtMs: number;
}

/** The holds with an unknown outcome. */
export interface UnknownHolds {
  /** Releases the hold in the background; returns the error for the caller, whose call was not admitted. */
  release(hold: UnknownHold, cause: unknown): AppError;
  /** Notes that the ledger has answered a hold. */
  answered(): void;
  /** Returns how many are waiting for their release. */
  count(): number;
  /** Stops after one more try for each if the ledger answers. */
  stop(): Promise<void>;
}

/** Reports whether the error leaves the outcome of the hold unknown. */
export function isUnknownOutcome(error: unknown): boolean {
  return hasReason(error, 'service_unavailable', 'deadline_exceeded', 'cancelled', 'internal');
}

/** Creates the set. A hold is no longer released when it has expired, `holdTtlMs` after it was requested. */
export function createUnknownHolds(deps: {
  ledger: Pick<GatewayPeers['ledger'], 'release'>;
  clock: Clock;
  log: Logger;
  rpcTimeoutMs: number;
  holdTtlMs: number;
}): UnknownHolds {
  const { ledger, clock, log, rpcTimeoutMs, holdTtlMs } = deps;
  const outage = new Outage('the ledger', 'new calls are rejected', clock, log);
  const waiting = new Map<string, WaitingHold>();
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  /** Forgets the holds that have expired, and returns the others. */
  function unexpired(): WaitingHold[] {
    for (const { holdId, expiresAtMs } of waiting.values()) if (clock.monotonicMs() >= expiresAtMs) waiting.delete(holdId);
    return [...waiting.values()];
  }

  async function releaseAll(): Promise<void> {
    let pauseMs = 0;
    for (let left = unexpired(); left.length > 0 && !stopping.signal.aborted; left = unexpired()) {
      // One is enough to find out whether the ledger is back.
      const round = left.slice(0, pauseMs === 0 ? concurrency : 1);
      const answers = await Promise.all(round.map(releaseOne));
      pauseMs = answers.includes(true) ? 0 : Math.min(pauseMsMax, Math.max(pauseMsMin, pauseMs * 2));
      if (pauseMs > 0) await pause(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
    running = undefined;
  }

  /** Reports whether the ledger has answered. A release without an answer moves to the end, so that a single one cannot block the others. */
  async function releaseOne(hold: WaitingHold): Promise<boolean> {
    waiting.delete(hold.holdId);
    try {
      await ledger.release({ holdId: hold.holdId, accountId: hold.accountId }, callContext({ caller: 'gateway', timeoutMs: rpcTimeoutMs }));
    } catch (error) {
      if (isUnknownOutcome(error) || hasReason(error, 'overloaded')) {
        waiting.set(hold.holdId, hold);
        return false;
      }
      log.error({ err: error, call_id: hold.holdId }, 'a hold of unknown outcome could not be released; it will expire');
    }
    outage.ended();
    return true;
  }

  return {
    async stop() {
      stopping.abort();
      await running;
      const left = unexpired();
      for (let first = 0; first < left.length; first += concurrency) {
        const answers = await Promise.all(left.slice(first, first + concurrency).map(releaseOne));
        if (!answers.includes(true)) break;
      }
      if (waiting.size > 0) log.warn({ holds: waiting.size }, 'holds of unknown outcome remain and will expire');
    },
    release(hold, cause) {
      outage.began(cause);
      outage.count();
      if (waiting.size < holdsMax) {
        waiting.set(hold.holdId, { ...hold, expiresAtMs: clock.monotonicMs() + holdTtlMs });
        running ??= releaseAll();
      } else {
        log.warn({ call_id: hold.holdId }, 'too many holds of unknown outcome; this one will expire');
      }
      return new AppError('service_unavailable', 'The balance cannot be checked now, so no calls are admitted. Nothing was charged.', {
        retryAfterMs,
        cause,
      });
    },
    answered: () => outage.ended(),
    count: () => waiting.size,
  };
}
