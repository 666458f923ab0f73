// The health of the whole system, for operators. Each service is queried separately; one that does not respond is shown as unavailable.
import { toAppError } from '#client/errors/app-error.js';
import { thisProcess } from '#kit/process/process-info.js';
import type { GetDeliveryStatusResponse } from '#proto/auth/v1/notifications.js';
import type { Upstream } from '#proto/inference/v1/inference.js';
import type { BooksCheck, GetHealthResponse } from '#proto/ledger/v1/ledger.js';
import type { Reconciliation } from '#proto/metering/v1/metering.js';
import type { ProcessInfo } from '#proto/process/v1/process.js';
import { formatUsd } from '#rules/money/money.js';
import type { OperationDeps } from '../../deps.js';
import { instant, orNull } from '../../render/values.js';
import { words } from '../../render/words.js';
import { Health, LedgerCheck } from '../../schemas/operator/health.js';
import { type Area, ok, operation } from '../../table/operation.js';

/** A service that does not answer must not delay the others for long. */
const queryTimeoutMs = 2000;
/** Rebuilding all balances reads the whole journal. */
const checkTimeoutMs = 10 * 60_000;

export const health: Area = {
  title: 'Operators: health',
  description: 'The health of the parts of this installation.',
  operations: [
    operation('GET', '/operator/health', {
      summary: 'Show the health of every part.',
      who: 'operator',
      answers: [ok(Health)],
      handle: async ({ context }, deps) => {
        const { peers, clock } = deps;
        const brief = context({ ms: queryTimeoutMs });
        const [auth, catalog, ledger, metering, inference, notifications, reconciliation, upstreams] = await Promise.all([
          answered(peers.auth.getHealth({}, brief)),
          answered(peers.catalog.getHealth({}, brief)),
          answered(peers.ledger.getHealth({}, brief)),
          answered(peers.metering.getHealth({}, brief)),
          answered(peers.inference.getHealth({}, brief)),
          answered(peers.notifications.getDeliveryStatus({}, brief)),
          answered(peers.metering.getReconciliation({}, brief)),
          answered(peers.inference.listUpstreams({ withTests: true }, brief)),
        ]);
        const services = { auth, catalog, ledger, metering, inference };
        const instances = Object.values(services).flatMap(({ answer }) => answer?.process?.instanceId ?? []);
        const [books, outbox, found] = [ledger.answer, metering.answer?.outbox, reconciliation.answer];
        return {
          at: instant(BigInt(clock.nowMs())),
          // As far as the services that answered report.
          mode: modeOf(instances),
          gateway: await gatewayState(deps),
          services: Object.entries(services).map(([name, { answer, fault }]) => ({
            name,
            ready: answer !== undefined,
            fault: fault ?? null,
            ...renderProcess(answer?.process),
          })),
          holds:
            books === undefined
              ? null
              : {
                  open: Number(books.openHolds),
                  past_expiry: Number(books.holdsPastExpiry),
                  oldest_at: books.oldestOpenHoldAtMs === 0n ? null : instant(books.oldestOpenHoldAtMs),
                },
          ledger_check: books?.lastCheck === undefined ? null : renderCheck(books.lastCheck),
          outbox:
            outbox === undefined
              ? null
              : {
                  waiting: Number(outbox.pending),
                  oldest_at: outbox.pending === 0n ? null : instant(outbox.oldestPendingAtMs),
                  refused: Number(outbox.failed),
                  open_calls: Number(outbox.openCalls),
                },
          notifications: renderNotifications(notifications.answer, books),
          quarantined_last_hour: metering.answer === undefined ? null : Number(metering.answer.quarantinedLastHour),
          reconciliation:
            found === undefined
              ? null
              : {
                  recent: renderRun(found.recent),
                  full: renderRun(found.full),
                  drifts: found.drifts.map(({ check, accountId, callId, subject: what, stored, expected }) => ({
                    check: words.driftCheck.of(check),
                    account_id: orNull(accountId),
                    request_id: orNull(callId),
                    what,
                    stored: String(stored),
                    expected: String(expected),
                  })),
                },
          upstreams: upstreams.answer === undefined ? null : upstreams.answer.upstreams.map(renderUpstream),
        };
      },
    }),
    operation('POST', '/operator/health/ledger-check', {
      summary: 'Rebuild all balances from the journal and the holds now.',
      who: 'operator',
      answers: [ok(LedgerCheck)],
      handle: async ({ context }, { peers, clock }) => {
        const found = await peers.ledger.verify({ accountId: '' }, context({ ms: checkTimeoutMs }));
        const { accountsChecked, entriesChecked, sumNanoUsd, drifts } = found;
        return {
          ...renderCheck({ finishedAtMs: BigInt(clock.nowMs()), accountsChecked, entriesChecked, sumNanoUsd, drifts: drifts.length }),
          drifts: drifts.map(({ accountId, subject: what, storedNanoUsd, rebuiltNanoUsd }) => ({
            account_id: accountId,
            what,
            stored_usd: formatUsd(storedNanoUsd),
            rebuilt_usd: formatUsd(rebuiltNanoUsd),
          })),
        };
      },
    }),
  ],
};

/** Returns the answer, or the reason why there is none. */
function answered<T>(promise: Promise<T>): Promise<{ answer?: T; fault?: string }> {
  return promise.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ fault: toAppError(error).message }),
  );
}

function modeOf(instances: readonly string[]): Health['mode'] {
  if (instances.length === 0) return null;
  return instances.every((id) => id === thisProcess.instanceId) ? 'single' : 'distributed';
}

async function gatewayState({ readiness, spoolState, isDraining, keys, models, checkpoints }: OperationDeps) {
  const missing = await readiness();
  const { waiting, refused, damagedFiles } = await spoolState();
  const feed = (state: ReturnType<typeof keys.feed>) => ({ live: state.live, silent_ms: state.silentMs ?? null });
  return {
    ready: missing.length === 0 && !isDraining(),
    missing,
    draining: isDraining(),
    version: thisProcess.version,
    node_version: thisProcess.nodeVersion,
    started_at: instant(thisProcess.startedAtMs),
    calls: checkpoints.count(),
    spool: { waiting, refused, damaged_files: damagedFiles },
    feeds: { keys: feed(keys.feed()), catalog: feed(models.feed()) },
  };
}

function renderProcess(process: ProcessInfo | undefined) {
  if (process === undefined) return { version: null, node_version: null, started_at: null, database: null };
  const { version, nodeVersion, startedAtMs, databaseEngine, databaseVersion, databaseLatencyUs } = process;
  return {
    version,
    node_version: nodeVersion,
    started_at: instant(startedAtMs),
    database: { engine: databaseEngine, version: databaseVersion, answer_us: databaseLatencyUs },
  };
}

/** The oldest one waits in the ledger's outbox or for its delivery by auth. */
function renderNotifications(status: GetDeliveryStatusResponse | undefined, books: GetHealthResponse | undefined) {
  if (status === undefined) return null;
  const waiting = [status.oldestPendingAtMs, books?.oldestUnshippedNotificationAtMs ?? 0n].filter((atMs) => atMs > 0n).map(Number);
  return { waiting: Number(status.pending), oldest_at: waiting.length === 0 ? null : instant(BigInt(Math.min(...waiting))) };
}

function renderCheck(check: BooksCheck) {
  const { finishedAtMs, accountsChecked, entriesChecked, sumNanoUsd, drifts } = check;
  return {
    ok: sumNanoUsd === 0n && drifts === 0,
    at: instant(finishedAtMs),
    accounts_checked: Number(accountsChecked),
    entries_checked: Number(entriesChecked),
    sum_usd: formatUsd(sumNanoUsd),
    drift_count: drifts,
  };
}

function renderRun(run: Reconciliation | undefined) {
  if (run === undefined) return null;
  return {
    finished_at: instant(run.finishedAtMs),
    records_checked: Number(run.recordsChecked),
    holds_checked: Number(run.holdsChecked),
    drift_count: run.drifts.length,
  };
}

function renderUpstream({ id, enabled, lastTest }: Upstream) {
  return {
    id,
    enabled,
    last_test:
      lastTest === undefined
        ? null
        : { ok: lastTest.ok, failed_step: lastTest.ok ? null : lastTest.failedStep, at: instant(lastTest.startedAtMs) },
  };
}
