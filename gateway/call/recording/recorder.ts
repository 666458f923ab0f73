// Records ended calls: in metering, or durably in the spool when metering does not accept them in time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type RecordUsageRequest, ResponseStorage, type UsageRecord } from '#proto/metering/v1/metering.js';
import type { Clock } from '#kit/clock.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import { Outage } from './outage.js';
import { withheld } from './outcome.js';
import type { GatewayPeers } from '../../peers.js';
import { isMeteringUnavailable, isRefusal } from './spool/poster.js';
import type { Spool } from './spool/spool.js';

const pauseMsMin = 50;
const pauseMsMax = 1000;
/** While metering is unavailable, how often a new call is admitted to find out whether it still is. */
const trialIntervalMs = 5000;
const retryAfterMs = 2000;

/** Holds a call whose report is durable. */
export interface Recorded {
  readonly tokens: TokenCounts;
  /** Absent while the report waits in the spool: metering determines the cost of the call. */
  readonly record: UsageRecord | undefined;
  /** Whether the response is stored, of a call that reported one. Absent if that is unknown. */
  readonly storage?: ResponseStorage | undefined;
}

/** Records calls. */
export interface Recorder {
  /**
   * `record` resolves once the report is durable, in metering or in the spool. It rejects with metering's error when metering rejects the
   * report, and with service_unavailable after the longest time that a caller waits. `ended` resolves when there are no more attempts here,
   * which may be much later: a call of which something was delivered must be recorded, whether or not its caller still waits. `writeHold` is for a call whose
   * hold is written with its record; it is called before the report is spooled, because the record is not stored then.
   */
  record(request: RecordUsageRequest, writeHold?: () => Promise<void>): { record: Promise<Recorded>; ended: Promise<void> };
  /** Raises service_unavailable while metering accepts no records: calls admitted then might never be charged. */
  assertRecording(): void;
  /** Reports whether a new call would be admitted now. */
  isRecording(): boolean;
  /** Posts a spooled report once. Raises the reason why it was not recorded. */
  post(request: RecordUsageRequest): Promise<void>;
}

/** Holds the dependencies of a recorder. */
export interface RecorderDeps {
  readonly metering: Pick<GatewayPeers['metering'], 'recordUsage' | 'refundUndeliveredAnswer'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rpcTimeoutMs: number;
  /** How long only metering is tried before a report is spooled. */
  readonly spoolAfterMs: number;
  /** How long a caller waits for the end of its answer. */
  readonly patienceMs: number;
  /** How long to retry a call that neither metering nor the spool accepts. */
  readonly persistenceMs: number;
}

/** Creates a recorder. It gets the spool at its first use, since the spool posts through the recorder. */
export function createRecorder(deps: RecorderDeps, spool: () => Pick<Spool, 'append'>): Recorder {
  const { metering, clock, log, rpcTimeoutMs, spoolAfterMs, patienceMs, persistenceMs } = deps;
  const outage = new Outage('metering', 'ended calls are kept in the spool and new ones are rejected', clock, log);
  const spoolFault = new Outage(
    'the spool',
    'calls that end now wait in memory for metering, and their clients wait for the end of the answer',
    clock,
    log,
  );
  /** Ids of calls whose callers have received an error because the end could not be recorded, while the attempts continue. */
  const overdue = new Set<string>();
  let recordedAtMs = Number.NEGATIVE_INFINITY;
  let trialAtMs = Number.NEGATIVE_INFINITY;

  async function ask(request: RecordUsageRequest, timeoutMs: number): Promise<Recorded> {
    try {
      const { record, responseStorage: storage } = await metering.recordUsage(request, callContext({ caller: 'gateway', timeoutMs }));
      answered();
      if (record!.chargeNanoUsd > 0n && isUndelivered(request)) await refund(request, timeoutMs);
      return { tokens: request.tokens!, record: record!, storage };
    } catch (error) {
      if (isRefusal(error)) answered();
      throw error;
    }
  }

  /** Reports whether the client received nothing: metering may have stored the original report while the client was sent an error. */
  function isUndelivered(request: RecordUsageRequest): boolean {
    return request.free || (overdue.has(request.call!.id) && withheld(request) !== request);
  }

  /** Refunds the charge in metering. Throws when that may succeed later; the report is then sent again, or spooled. */
  async function refund({ call }: RecordUsageRequest, timeoutMs: number): Promise<void> {
    const { id: callId, accountId, idempotencyKeyHash } = call!;
    try {
      await metering.refundUndeliveredAnswer({ callId, accountId, idempotencyKeyHash }, callContext({ caller: 'gateway', timeoutMs }));
    } catch (error) {
      if (!hasReason(error, 'failed_precondition', 'not_found', 'invalid_request', 'peer_not_permitted')) throw error;
      log.error(
        { err: error, call_id: callId, account_id: accountId },
        `an answer was charged although its end was withheld; refund it: tollgate balance refund ${callId} --reason "the answer was not delivered"`,
      );
    }
  }

  function answered(): void {
    recordedAtMs = clock.monotonicMs();
    outage.ended();
  }

  /** Notes that metering did not accept a report in time. If it has accepted others since, only that report is at fault. */
  function missed(startedAtMs: number, error: unknown): void {
    if (recordedAtMs >= startedAtMs) return;
    if (!outage.isOn()) trialAtMs = clock.monotonicMs();
    outage.began(error);
  }

  async function persist(request: RecordUsageRequest, writeHold: (() => Promise<void>) | undefined): Promise<Recorded> {
    const { tokens } = request;
    const callId = request.call!.id;
    const startedAtMs = clock.monotonicMs();
    const withoutEnd = withheld(request);
    const wanted = (): RecordUsageRequest => (overdue.has(callId) ? withoutEnd : request);
    let isSpooling = outage.isOn();
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(pauseMsMax, pauseMs * 2)) {
      if (isSpooling) {
        try {
          await writeHold?.();
          await keep(wanted);
          spoolFault.ended();
          return { tokens: tokens!, record: undefined };
        } catch (error) {
          spoolFault.began(error);
        }
      }
      const leftMs = spoolAfterMs - (clock.monotonicMs() - startedAtMs);
      try {
        const recorded = await ask(wanted(), isSpooling ? rpcTimeoutMs : Math.max(pauseMsMin, Math.min(rpcTimeoutMs, leftMs)));
        return { ...recorded, tokens: tokens! };
      } catch (error) {
        const waitedMs = clock.monotonicMs() - startedAtMs;
        if (isRefusal(error) || (isSpooling && waitedMs >= persistenceMs)) {
          log.error(
            { err: error, call_id: callId },
            'a call could not be recorded, or a withheld answer not refunded; metering closes an unrecorded call at its last checkpoint',
          );
          throw error;
        }
        if (waitedMs + pauseMs >= spoolAfterMs && !isSpooling) {
          isSpooling = true;
          missed(startedAtMs, error);
          continue;
        }
        await sleep(pauseMs, undefined, { ref: false });
      }
    }
  }

  /** Spools a report, and again when its end was withheld from the caller in the meantime. */
  async function keep(wanted: () => RecordUsageRequest): Promise<void> {
    for (let kept: RecordUsageRequest | undefined; kept !== wanted();) {
      kept = wanted();
      // The answer says that its response is not stored, because it could not be read before the report leaves the spool.
      await spool().append({ ...kept, storedResponse: undefined });
    }
  }

  // If only the waiting reports are at fault, a new call is recorded and ends the outage.
  const isTrialDue = (): boolean => clock.monotonicMs() - trialAtMs >= trialIntervalMs;

  return {
    record(request, writeHold) {
      const callId = request.call!.id;
      const persisted = persist(request, writeHold);
      const record = new Promise<Recorded>((resolve, reject) => {
        const patience = setTimeout(() => {
          overdue.add(callId);
          log.warn(
            { call_id: callId, overdue: overdue.size },
            'a call is not recorded yet; its end is withheld from its caller, and recording is retried',
          );
          reject(
            new AppError('service_unavailable', 'The call could not be recorded, so the end of its answer is withheld. Try again later.', {
              retryAfterMs: 5000,
            }),
          );
        }, patienceMs);
        persisted.then(resolve, reject).finally(() => clearTimeout(patience));
      });
      const ended = persisted
        .then(
          () => undefined,
          () => undefined,
        )
        .finally(() => overdue.delete(callId));
      return { record, ended };
    },
    assertRecording() {
      if (!outage.isOn()) return;
      if (isTrialDue()) {
        trialAtMs = clock.monotonicMs();
        return;
      }
      outage.count();
      throw new AppError('service_unavailable', 'Calls cannot be recorded now, so none are admitted. Nothing was charged.', {
        retryAfterMs,
      });
    },
    isRecording: () => !outage.isOn() || isTrialDue(),
    async post(request) {
      const startedAtMs = clock.monotonicMs();
      try {
        await ask(overdue.has(request.call!.id) ? withheld(request) : request, rpcTimeoutMs);
      } catch (error) {
        if (isMeteringUnavailable(error)) missed(startedAtMs, error);
        throw error;
      }
    },
  };
}
