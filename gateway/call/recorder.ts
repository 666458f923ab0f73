// Puts ended calls on record: with metering, or durably in the spool when metering does not take them in time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { RecordUsageRequest, UsageRecord } from '#proto/metering/v1/metering.js';
import type { Clock } from '#kit/clock.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import { Outage } from './outage.js';
import { withheld } from './outcome.js';
import type { GatewayPeers } from '../peers.js';
import { isMeteringAway, isRefusal } from './spool/poster.js';
import type { Spool } from './spool/spool.js';

const pauseMsMin = 50;
const pauseMsMax = 1000;
/** While metering is away, how often a new call is let in to find out whether it still is. */
const trialIntervalMs = 5000;
const retryAfterMs = 2000;

/** A call whose report is durable. */
export interface Recorded {
  readonly tokens: TokenCounts;
  /** Absent when the report waits in the spool: what the call costs is for metering to say. */
  readonly record: UsageRecord | undefined;
}

/** Records calls. */
export interface Recorder {
  /**
   * `record` resolves once the report is durable, with metering or in the spool; it rejects with what metering refuses the call for,
   * or service_unavailable when it took longer than a caller waits. `ended` resolves when nothing more is tried here, which may be
   * much later: a call of which something was delivered must be recorded, whether or not its caller still waits.
   */
  record(request: RecordUsageRequest): { record: Promise<Recorded>; ended: Promise<void> };
  /** Raises service_unavailable while metering takes no records: the calls that are let in then might never be charged. */
  assertRecording(): void;
  /** Whether a new call would be let in now. */
  isRecording(): boolean;
  /** Posts a spooled report: once, and raises why it is not on record. */
  post(request: RecordUsageRequest): Promise<void>;
}

/** What a recorder works with. */
export interface RecorderDeps {
  readonly metering: Pick<GatewayPeers['metering'], 'recordUsage' | 'refundUndeliveredAnswer'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rpcTimeoutMs: number;
  /** How long metering alone is tried before a report goes to the spool. */
  readonly spoolAfterMs: number;
  /** How long a caller waits for the end of its answer. */
  readonly patienceMs: number;
  /** After this long a call that neither metering nor the spool takes is given up. */
  readonly persistenceMs: number;
}

/** Creates a recorder. The spool is asked for at the first need, since it posts by way of the recorder. */
export function createRecorder(deps: RecorderDeps, spool: () => Pick<Spool, 'append'>): Recorder {
  const { metering, clock, log, rpcTimeoutMs, spoolAfterMs, patienceMs, persistenceMs } = deps;
  const outage = new Outage('metering', 'ended calls are kept in the spool and new ones are refused', clock, log);
  const spoolFault = new Outage('the spool', 'calls that end now wait in memory for metering, and their callers for their end', clock, log);
  /** Ids of calls whose callers have been told that their end could not be recorded, and which are still tried. */
  const overdue = new Set<string>();
  let recordedAtMs = Number.NEGATIVE_INFINITY;
  let trialAtMs = Number.NEGATIVE_INFINITY;

  async function ask(request: RecordUsageRequest, timeoutMs: number): Promise<UsageRecord> {
    try {
      const { record } = await metering.recordUsage(request, callContext({ caller: 'gateway', timeoutMs }));
      answered();
      if (record!.chargeNanoUsd > 0n && isUndelivered(request)) await refund(request, timeoutMs);
      return record!;
    } catch (error) {
      if (isRefusal(error)) answered();
      throw error;
    }
  }

  /** Whether the client received nothing: metering may have stored the original report while the client was sent an error. */
  function isUndelivered(request: RecordUsageRequest): boolean {
    return request.free || (overdue.has(request.call!.id) && withheld(request) !== request);
  }

  /** Has metering refund the charge. Throws where that may succeed later; the report is then sent again, or spooled. */
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

  /** Metering did not take a report in time. Where it took others since, the fault is in that report alone. */
  function missed(startedAtMs: number, error: unknown): void {
    if (recordedAtMs >= startedAtMs) return;
    if (!outage.isOn()) trialAtMs = clock.monotonicMs();
    outage.began(error);
  }

  async function persist(request: RecordUsageRequest): Promise<Recorded> {
    const { tokens } = request;
    const callId = request.call!.id;
    const startedAtMs = clock.monotonicMs();
    const withoutEnd = withheld(request);
    const wanted = (): RecordUsageRequest => (overdue.has(callId) ? withoutEnd : request);
    let isSpooling = outage.isOn();
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(pauseMsMax, pauseMs * 2)) {
      if (isSpooling) {
        try {
          await keep(wanted);
          spoolFault.ended();
          return { tokens: tokens!, record: undefined };
        } catch (error) {
          spoolFault.began(error);
        }
      }
      const leftMs = spoolAfterMs - (clock.monotonicMs() - startedAtMs);
      try {
        return {
          tokens: tokens!,
          record: await ask(wanted(), isSpooling ? rpcTimeoutMs : Math.max(pauseMsMin, Math.min(rpcTimeoutMs, leftMs))),
        };
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

  /** Spools a report, and once more when its caller was told meanwhile that its end is withheld. */
  async function keep(wanted: () => RecordUsageRequest): Promise<void> {
    for (let kept: RecordUsageRequest | undefined; kept !== wanted();) {
      kept = wanted();
      await spool().append(kept);
    }
  }

  // Should only the reports that wait be at fault, a new call is recorded and shows it.
  const isTrialDue = (): boolean => clock.monotonicMs() - trialAtMs >= trialIntervalMs;

  return {
    record(request) {
      const callId = request.call!.id;
      const persisted = persist(request);
      const record = new Promise<Recorded>((resolve, reject) => {
        const patience = setTimeout(() => {
          overdue.add(callId);
          log.warn(
            { call_id: callId, overdue: overdue.size },
            'a call is not on record yet; its caller is not shown its end, and it is tried on',
          );
          reject(
            new AppError('service_unavailable', 'The answer could not be put on record, so its end is withheld. Try again later.', {
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
      throw new AppError('service_unavailable', 'Calls cannot be put on record now, so none can be let in. Nothing was charged.', {
        retryAfterMs,
      });
    },
    isRecording: () => !outage.isOn() || isTrialDue(),
    async post(request) {
      const startedAtMs = clock.monotonicMs();
      try {
        await ask(overdue.has(request.call!.id) ? withheld(request) : request, rpcTimeoutMs);
      } catch (error) {
        if (isMeteringAway(error)) missed(startedAtMs, error);
        throw error;
      }
    },
  };
}
