// Reads all data about calls and judges them; suspected drifts are checked a second time, since the sources are not read at one instant.
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { callContext } from '#client/call-context.js';
import type { Hold, LedgerService } from '#proto/ledger/v1/ledger.js';
import type { Drift } from '#proto/metering/v1/metering.js';
import type { MeteringConfig } from '../config.js';
import type { LeaseGrace } from '../leases/lease-grace.js';
import { archivedUntilMs as recordsArchivedUntilMs } from '../store/archive.js';
import { ownEvidence } from '../store/reconcile.js';
import { type CallName, distinct, type Evidence, identityOf, judge, type Judgement } from './judge.js';
import type { PriceBook } from './price-book.js';

/** Calls read at a time: bounds how long SQLite occupies the process. */
export const callsPerQuery = 50;

const ledgerTimeoutMs = 30_000;

/** Holds the dependencies of a reconcile run. */
export interface ReconcileDeps {
  readonly config: MeteringConfig;
  readonly db: Database;
  readonly clock: Clock;
  readonly ledger: Pick<LedgerService, 'batchGetHolds' | 'listHolds' | 'verify'>;
  readonly prices: PriceBook;
  readonly grace: LeaseGrace;
}

/** Holds what the examination of some calls found. */
export interface Findings {
  readonly drifts: Drift[];
  /** Calls that were in progress. */
  readonly unfinished: CallName[];
}

/** Judges these calls. Raises what the databases and the services raise. */
export async function examine(calls: readonly CallName[], deps: ReconcileDeps): Promise<Findings> {
  const findings: Findings = { drifts: [], unfinished: [] };
  const pacer = new Pacer();
  for (let start = 0; start < calls.length; start += callsPerQuery) {
    if (start > 0) await pacer.step();
    for (const { call, judgement } of await judgePage(calls.slice(start, start + callsPerQuery), deps)) {
      findings.drifts.push(...judgement.drifts);
      if (!judgement.isFinished) findings.unfinished.push(call);
    }
  }
  return findings;
}

/**
 * Returns the drifts that are still there after a pause; all others resulted from reading one side before a write and the other after
 * it. Drifts that concern no call are kept.
 */
export async function recheck(suspects: readonly Drift[], deps: ReconcileDeps): Promise<Drift[]> {
  if (suspects.length === 0) return [];
  await pause(deps.config.reconcilePatienceMs);
  const calls = new Map(
    suspects.filter(({ callId }) => callId !== '').map(({ callId, accountId }) => [`${accountId} ${callId}`, { callId, accountId }]),
  );
  const { drifts } = await examine([...calls.values()], deps);
  const known = new Set(suspects.map(identityOf));
  return distinct([...suspects.filter(({ callId }) => callId === ''), ...drifts.filter((drift) => known.has(identityOf(drift)))]);
}

async function judgePage(calls: readonly CallName[], deps: ReconcileDeps): Promise<{ call: CallName; judgement: Judgement }[]> {
  // Our own data is read first: what it says is settled must be settled at the ledger by then.
  const own = await ownEvidence(
    deps.db,
    calls.map(({ callId }) => callId),
  );
  const used = [...own.records.values()].flatMap(({ call }) =>
    call?.price === undefined ? [] : [{ price: call.price, startedAtMs: call.startedAtMs }],
  );
  const prices = await deps.prices.find(used);
  const items = calls.map(({ callId, accountId }) => ({ holdId: callId, accountId }));
  const { holds, archivedUntilMs } = await deps.ledger.batchGetHolds(
    { items },
    callContext({ caller: 'metering', timeoutMs: ledgerTimeoutMs }),
  );
  const holdsByName = new Map<string, Hold>(holds.map((hold) => [`${hold.accountId} ${hold.id}`, hold]));
  const nowMs = deps.clock.nowMs();
  const rules = {
    nowMs,
    unsettledMs: deps.config.reconcileUnsettledAfterMs,
    reportableSinceMs: nowMs - deps.grace.lastedMs(),
    holdsArchivedUntilMs: archivedUntilMs === 0n ? -Infinity : Number(archivedUntilMs),
    recordsArchivedUntilMs: await recordsArchivedUntilMs(deps.db),
  };
  return calls.map((call) => {
    const { callId, accountId } = call;
    const found = own.records.get(callId);
    const record = found?.call?.accountId === accountId ? found : undefined;
    const evidence: Evidence = {
      callId,
      accountId,
      record,
      queued: own.queued.get(callId),
      isClosed: own.closed.has(callId),
      isInFlight: own.inFlight.has(callId),
      hold: holdsByName.get(`${accountId} ${callId}`),
      price: prices.get(record?.call?.price?.id ?? ''),
    };
    return { call, judgement: judge(evidence, rules) };
  });
}
