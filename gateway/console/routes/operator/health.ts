// How the whole system stands, for operators. Each part is asked by itself, and one that does not answer is told as such.
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { toAppError } from '#client/errors/app-error.js';
import { formatUsd } from '#rules/money.js';
import { thisProcess } from '#kit/process/process-info.js';
import type { CallContext } from '#client/call-context.js';
import type { Upstream } from '#proto/inference/v1/inference.js';
import type { BooksCheck } from '#proto/ledger/v1/ledger.js';
import { DriftCheck, type Reconciliation } from '#proto/metering/v1/metering.js';
import type { ProcessInfo } from '#proto/process/v1/process.js';
import { contextWithin } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { instant, orNull } from '../../render/values.js';

/** A part that is away must not hold up the rest for long. */
const askTimeoutMs = 2000;
/** Rebuilding all balances reads the whole journal. */
const checkTimeoutMs = 10 * 60_000;
const ask = (): CallContext => contextWithin(askTimeoutMs);

/** Adds the routes below `base`, behind what lets in operators alone. */
export function healthRoutes(router: Router, base: string, deps: ConsoleDeps): void {
  router.get(`${base}/health`, getHealth(deps));
  router.post(`${base}/health/ledger-check`, checkLedger(deps));
}

/** GET health. */
function getHealth(deps: ConsoleDeps): Middleware {
  const { peers, clock } = deps;
  return async (ctx: Context) => {
    const [auth, catalog, ledger, metering, inference, reconciliation, upstreams] = await Promise.all([
      answered(peers.auth.getHealth({}, ask())),
      answered(peers.catalog.getHealth({}, ask())),
      answered(peers.ledger.getHealth({}, ask())),
      answered(peers.metering.getHealth({}, ask())),
      answered(peers.inference.getHealth({}, ask())),
      answered(peers.metering.getReconciliation({}, ask())),
      answered(peers.inference.listUpstreams({ withTests: true }, ask())),
    ]);
    const asked = { auth, catalog, ledger, metering, inference };
    const instances = Object.values(asked).flatMap(({ answer }) => answer?.process?.instanceId ?? []);
    const [books, outbox, found] = [ledger.answer, metering.answer?.outbox, reconciliation.answer];
    ctx.body = {
      at: instant(BigInt(clock.nowMs())),
      // As far as the parts that answer tell.
      mode: instances.length === 0 ? null : instances.every((id) => id === thisProcess.instanceId) ? 'single' : 'distributed',
      gateway: await gatewayState(deps),
      services: Object.entries(asked).map(([name, { answer, fault }]) => ({
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
      ledger_check: renderCheck(books?.lastCheck),
      outbox:
        outbox === undefined
          ? null
          : {
              waiting: Number(outbox.pending),
              oldest_at: outbox.pending === 0n ? null : instant(outbox.oldestPendingAtMs),
              refused: Number(outbox.failed),
              open_calls: Number(outbox.openCalls),
            },
      quarantined_last_hour: metering.answer === undefined ? null : Number(metering.answer.quarantinedLastHour),
      reconciliation:
        found === undefined
          ? null
          : {
              recent: renderRun(found.recent),
              full: renderRun(found.full),
              drifts: found.drifts.map(({ check, accountId, callId, subject: what, stored, expected }) => ({
                check: DriftCheck[check].replace('DRIFT_CHECK_', '').toLowerCase(),
                account_id: orNull(accountId),
                request_id: orNull(callId),
                what,
                stored: String(stored),
                expected: String(expected),
              })),
            },
      upstreams: upstreams.answer === undefined ? null : upstreams.answer.upstreams.map(renderUpstream),
    };
  };
}

/** POST health/ledger-check: rebuilds all balances from the journal and the holds now. */
function checkLedger({ peers, clock }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const found = await peers.ledger.verify({ accountId: '' }, contextWithin(checkTimeoutMs));
    const { accountsChecked, entriesChecked, sumNanoUsd, drifts } = found;
    ctx.body = {
      ...renderCheck({ finishedAtMs: BigInt(clock.nowMs()), accountsChecked, entriesChecked, sumNanoUsd, drifts: drifts.length }),
      drifts: drifts.map(({ accountId, subject: what, storedNanoUsd, rebuiltNanoUsd }) => ({
        account_id: accountId,
        what,
        stored_usd: formatUsd(storedNanoUsd),
        rebuilt_usd: formatUsd(rebuiltNanoUsd),
      })),
    };
  };
}

/** The answer, or why there is none. */
function answered<T>(promise: Promise<T>): Promise<{ answer?: T; fault?: string }> {
  return promise.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ fault: toAppError(error).message }),
  );
}

async function gatewayState({ readiness, spoolState, isDraining, keys, models, checkpoints }: ConsoleDeps) {
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

function renderCheck(check: BooksCheck | undefined) {
  if (check === undefined) return null;
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
