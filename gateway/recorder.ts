// Puts ended calls on record with metering, however long metering is away: the caller waits for it only a while.
import { setTimeout as sleep } from 'node:timers/promises';
import { Ending, type RecordUsageRequest, type UsageRecord } from '#proto/metering/v1/metering.js';
import type { Clock } from '#kit/clock.js';
import { AppError, hasReason } from '#kit/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#kit/rpc/call-context.js';
import type { GatewayPeers } from './peers.js';

const pauseMsMin = 50;
const pauseMsMax = 1000;

/** Records calls. */
export interface Recorder {
  /**
   * `record` is the record once it is durable; it rejects with what metering refuses the call for, or service_unavailable when it
   * took longer than a caller waits. `ended` resolves when nothing more is tried, which may be much later: a call of which
   * something was delivered must be recorded, whether or not its caller still waits.
   */
  record(request: RecordUsageRequest): { record: Promise<UsageRecord>; ended: Promise<void> };
  /** Raises service_unavailable while calls cannot be recorded: the answers of what is let in then might never be charged. */
  assertRecording(): void;
}

/** Creates a recorder. Callers wait `patienceMs`; after `persistenceMs` a call is given up. */
export function createRecorder(deps: {
  metering: Pick<GatewayPeers['metering'], 'recordUsage'>;
  clock: Clock;
  log: Logger;
  rpcTimeoutMs: number;
  patienceMs: number;
  persistenceMs: number;
}): Recorder {
  const { metering, clock, log, rpcTimeoutMs, patienceMs, persistenceMs } = deps;
  /** Ids of calls whose callers have been told that their end could not be recorded, and which are still tried. */
  const overdue = new Set<string>();
  let recordedAtMs = Number.NEGATIVE_INFINITY;
  let trialAtMs = Number.NEGATIVE_INFINITY;

  async function persist(request: RecordUsageRequest): Promise<UsageRecord> {
    const callId = request.call!.id;
    const startedAtMs = clock.nowMs();
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(pauseMsMax, pauseMs * 2)) {
      try {
        const wanted = overdue.has(callId) ? withheld(request) : request;
        const { record } = await metering.recordUsage(wanted, callContext({ caller: 'gateway', timeoutMs: rpcTimeoutMs }));
        recordedAtMs = clock.nowMs();
        return record!;
      } catch (error) {
        if (isRefusal(error) || clock.nowMs() - startedAtMs >= persistenceMs) {
          log.error({ err: error, call_id: callId }, 'a call could not be put on record; metering will close it at its last checkpoint');
          throw error;
        }
        await sleep(pauseMs, undefined, { ref: false });
      }
    }
  }

  return {
    record(request) {
      const callId = request.call!.id;
      const persisted = persist(request);
      const record = new Promise<UsageRecord>((resolve, reject) => {
        const patience = setTimeout(() => {
          if (overdue.size === 0) trialAtMs = clock.nowMs();
          overdue.add(callId);
          log.warn({ call_id: callId, overdue: overdue.size }, 'a call is not on record yet; its caller is not shown its end, and it is tried on');
          reject(new AppError('service_unavailable', 'The answer could not be put on record, so its end is withheld. Try again later.', { retryAfterMs: 5000 }));
        }, patienceMs);
        persisted.then(resolve, reject).finally(() => clearTimeout(patience));
      });
      const ended = persisted.then(
        () => undefined,
        () => undefined,
      ).finally(() => overdue.delete(callId));
      return { record, ended };
    },
    assertRecording() {
      const nowMs = clock.nowMs();
      // Where others are recorded the fault is in the overdue call itself.
      if (overdue.size === 0 || nowMs - recordedAtMs < patienceMs) return;
      // One call now and then finds out whether it is so.
      if (nowMs - trialAtMs >= patienceMs) {
        trialAtMs = nowMs;
        return;
      }
      throw new AppError('service_unavailable', 'Calls cannot be put on record now, so none can be let in. Nothing was charged.', { retryAfterMs: 2000 });
    },
  };
}

/** The record of a call whose end was withheld: of a whole answer then nothing was delivered, and nothing is charged. */
function withheld(request: RecordUsageRequest): RecordUsageRequest {
  const isFinished = request.ending === Ending.ENDING_COMPLETED || request.ending === Ending.ENDING_MAX_TOKENS;
  if (request.call!.streaming || !isFinished) return request;
  return { ...request, ending: Ending.ENDING_GATEWAY_ERROR, endingDetail: 'service_unavailable', free: true };
}

/** Whether a repeat would get the same answer. Everything else is tried again, since a record is stored once however often it is sent. */
function isRefusal(error: unknown): boolean {
  return hasReason(error, 'invalid_request', 'call_closed', 'idempotency_mismatch', 'peer_not_permitted');
}
