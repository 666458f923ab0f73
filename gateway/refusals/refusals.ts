// Refused calls: counted here and sent to metering about once per second, so that no call waits for it.
import { randomBytes } from 'node:crypto';
import { recordedTraceId } from '#kit/telemetry/traces/recorded-trace.js';
import { hasReason, type AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { afterAbout } from '#kit/scheduling/shared-timers.js';
import { counter } from '#kit/telemetry/metrics.js';
import type { Key } from '#proto/auth/v1/auth.js';
import type { RecordRefusalsRequest } from '#proto/metering/v1/metering.js';
import { shownMessage, shownReason } from '../formats/errors/error-details.js';
import type { Endpoint } from '../http/request-state.js';
import type { GatewayPeers } from '../peers.js';
import type { ModelReplica } from '../replicas/models.js';
import { RefusalCollector } from './collector.js';

const intervalMs = 1000;
const batchIdBytes = 16;

const refused = counter({
  name: 'tollgate.calls.refused',
  unit: '{call}',
  description: 'Calls that were answered with an error and are not recorded.',
  by: 'gateway',
  labels: { reason: 'The reason of the error, as at /docs/errors.' },
});
const lost = counter({
  name: 'tollgate.calls.refused.lost',
  unit: '{call}',
  description:
    'Refused calls that are missing from the counts of accounts, because there was no room for them, or metering was unavailable at shutdown.',
  by: 'gateway',
});

/** A call that was answered with an error and is not recorded. */
export interface RefusedRequest {
  readonly requestId: string;
  readonly key: Key;
  readonly endpoint: Endpoint;
  /** As the caller named it; absent if it was refused before its body was read. */
  readonly requestedModel: string | undefined;
  readonly error: AppError;
  readonly httpStatus: number;
  readonly clientRequestId: string;
}

/** The refused calls of one gateway. */
export interface Refusals {
  /** Counts a refused call for the account of its key. */
  note(call: RefusedRequest): void;
  /** Counts a refusal only in the metrics, because without a known key it belongs to no account. */
  count(error: AppError): void;
  /** Sends what waits. */
  stop(): Promise<void>;
}

/** Creates the set. A gateway that is killed loses what it has not sent: about a second of refusals. */
export function createRefusals(deps: {
  metering: Pick<GatewayPeers['metering'], 'recordRefusals'>;
  models: Pick<ModelReplica, 'idOf'>;
  clock: Clock;
  log: Logger;
  rpcTimeoutMs: number;
}): Refusals {
  const { metering, models, clock, log, rpcTimeoutMs } = deps;
  const collector = new RefusalCollector();
  // The batch that metering has not confirmed. It is repeated under its id, because metering may have stored it.
  let unconfirmed: RecordRefusalsRequest | undefined;
  let cancelTimer: (() => void) | undefined;
  let sending: Promise<void> | undefined;

  function wake(): void {
    if (cancelTimer !== undefined || sending !== undefined) return;
    cancelTimer = afterAbout(intervalMs, () => {
      cancelTimer = undefined;
      void send();
    });
  }

  /** Sends all that waits. Does not throw: what metering did not confirm waits for the next time. */
  function send(): Promise<void> {
    sending ??= sendAll()
      .catch((error: unknown) => log.debug({ err: error }, 'refused calls could not be sent to metering; this will be retried'))
      .finally(() => {
        sending = undefined;
        if (unconfirmed !== undefined || !collector.isEmpty()) wake();
      });
    return sending;
  }

  async function sendAll(): Promise<void> {
    while (unconfirmed !== undefined || !collector.isEmpty()) {
      unconfirmed ??= { batchId: randomBytes(batchIdBytes), series: collector.take() };
      try {
        await metering.recordRefusals(unconfirmed, callContext({ caller: 'gateway', timeoutMs: rpcTimeoutMs }));
      } catch (error) {
        // Repeating a batch that metering rejects would change nothing, and would keep all later ones from being sent.
        if (!hasReason(error, 'invalid_request')) throw error;
        log.error({ err: error }, 'metering rejected a batch of refused calls, which is dropped');
        lost.of().add(Number(callsOf(unconfirmed)));
      }
      unconfirmed = undefined;
    }
  }

  return {
    note({ requestId, key, endpoint, requestedModel = '', error, httpStatus, clientRequestId }) {
      const refusedAtMs = clock.nowMs();
      const reason = shownReason(error);
      refused.count({ reason });
      const call = {
        accountId: key.accountId,
        projectId: key.projectId,
        keyId: key.id,
        modelId: requestedModel === '' ? '' : (models.idOf(requestedModel) ?? ''),
        reason,
      };
      const isCounted = collector.add(call, refusedAtMs, () => ({
        requestId,
        // These five are in the series.
        accountId: '',
        projectId: '',
        keyId: '',
        modelId: '',
        reason: '',
        requestedModel: requestedModel.slice(0, 200),
        httpStatus,
        refusedAtMs: BigInt(refusedAtMs),
        endpoint,
        message: messageOf(error, reason),
        details: reason === 'internal' ? {} : { ...error.details },
        retryAfterMs: error.retryAfterMs === undefined ? undefined : Math.round(error.retryAfterMs),
        traceId: recordedTraceId(),
        clientRequestId: clientRequestId.slice(0, 128),
      }));
      if (!isCounted) lost.count();
      wake();
    },
    count: (error) => refused.count({ reason: shownReason(error) }),
    async stop() {
      cancelTimer?.();
      // One that is under way may have failed by the time that the next begins.
      await sending;
      await send();
      cancelTimer?.();
      const waiting = collector.count() + (unconfirmed === undefined ? 0n : callsOf(unconfirmed));
      if (waiting === 0n) return;
      lost.of().add(Number(waiting));
      log.warn({ calls: Number(waiting) }, 'metering is unavailable: these refused calls are missing from the counts of accounts');
    },
  };
}

/** Returns the message as callers see it, without text of the request: what is not JSON is quoted in the message about it. */
function messageOf(error: AppError, reason: string): string {
  if (reason === 'internal') return '';
  return reason === 'invalid_request' && error.details['field'] === undefined ? '' : shownMessage(error);
}

function callsOf({ series }: RecordRefusalsRequest): bigint {
  return series.reduce((sum, { calls }) => sum + calls, 0n);
}
