// The job that verifies the charges: by default, the recent calls and the known drifts every minute, and everything once a day. Several
// replicas may run it; one of them claims each run, or part of a run.
import { clockSkewMs, hourMs } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import { BatchGetHoldsRequest } from '#proto/ledger/v1/ledger.js';
import { type Drift, DriftCheck, Reconciliation } from '#proto/metering/v1/metering.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { ensureRuns, readRuns, type RunName, type RunState } from '../store/reconcile-state.js';
import { rebuildRollups } from '../store/sums/rollup-steps.js';
import type { Extent } from '../store/reconcile.js';
import { type ClaimTimes, type RunClaim, takeRun } from './claim.js';
import { examine, type Findings, type ReconcileDeps, recheck } from './examine.js';
import { type CallName, distinct, identityOf } from './judge.js';
import { examinePage } from './pages.js';
import { finalAfterMs } from './price-book.js';
import { examineSums, type QuartersSeen } from './sums.js';
import { currentDrifts, driftsMax, listed, noResults, type Results, resultsOf, wrongBooks, wrongBooksMax } from './results.js';

/** Calls of the last moments are left to the next run, since most of them are in progress. All others can be judged by prices that are read once per run. */
const youngMs = finalAfterMs;
/** How far a run reaches back before the end of the previous one, for clocks that differ. Calls that were in progress then are examined again anyway. */
const overlapMs = 10_000;
const claimTimesDefault: ClaimTimes = { claimMs: 600_000, renewMs: 60_000 };
/** Maximum number of calls in progress that are remembered; those beyond are left to the full run. */
const unfinishedMax = 10_000;
/** Maximum number of quarter hours whose sums may be compared at the end; those beyond are left to later runs. */
const quartersSeenMax = 100_000;
/** Maximum number of suspects that are checked a second time; with more, it is clear that something is wrong. */
const suspectsMax = 1000;
const verifyTimeoutMs = 12 * hourMs;

/** Compares metering's records with the ledger and the catalog periodically, from `start` to `stop`. */
export class ReconcileJob {
  /** The latest results of the runs, whichever replica made them. */
  results: Results = noResults;
  private readonly outcome = new AbortController();
  private stopRepeating: (() => Promise<void>)[] = [];

  constructor(
    private readonly deps: ReconcileDeps & { readonly log: Logger },
    private readonly claimTimes = claimTimesDefault,
  ) {}

  /** Repeats each kind of run by itself, so that the recent one is on time while a full one is in progress. */
  start(): void {
    const { config, log } = this.deps;
    this.stopRepeating = (['recent', 'full'] as const).map((name) =>
      repeat(
        Math.min(config.reconcileIntervalMs, config.reconcileFullIntervalMs),
        async () => {
          // The pacer leaves time to calls, and the recent run has its own loop.
          while ((await this.tick([name])) && !this.outcome.signal.aborted);
        },
        (error) => {
          if (!this.outcome.signal.aborted)
            log.warn({ err: error, run: name }, 'the reconcile run could not be finished; this will be retried');
        },
      ),
    );
  }

  /** Stops between two pages. */
  async stop(): Promise<void> {
    this.outcome.abort();
    await Promise.all(this.stopRepeating.map((stop) => stop()));
  }

  /** Executes those of these runs that are due, one after another; of the full run, one slice. Reports whether there are more slices. */
  async tick(names: readonly RunName[] = ['recent', 'full']): Promise<boolean> {
    const { clock, db } = this.deps;
    await ensureRuns(db, clock.nowMs());
    const runs = await readRuns(db);
    this.results = resultsOf(runs);
    let hasMore = false;
    for (const name of names) {
      const run = runs.find((each) => each.name === name);
      if (run === undefined || !this.isDue(run)) continue;
      const claim = await takeRun(run, this.deps, this.claimTimes);
      if (claim === undefined) continue;
      try {
        if (name === 'recent') await this.runRecent(run, claim);
        else hasMore = await this.runFull(run, claim);
      } catch (error) {
        await claim.store({ ...run, dueAtMs: clock.nowMs() + this.deps.config.reconcileIntervalMs });
        throw error;
      }
    }
    return hasMore;
  }

  /**
   * Reports whether a run may begin. One that would have to wait for longer than its interval was scheduled when the interval was longer, or while the
   * clock was ahead, and may begin too.
   */
  private isDue({ name, dueAtMs }: RunState): boolean {
    const { clock, config } = this.deps;
    const intervalMs = name === 'full' ? config.reconcileFullIntervalMs : 0;
    const waitMs = dueAtMs - clock.nowMs();
    return waitMs <= 0 || waitMs > Math.max(intervalMs, config.reconcileIntervalMs, this.claimTimes.claimMs) + clockSkewMs;
  }

  private async runRecent(run: RunState, claim: RunClaim): Promise<void> {
    const { clock, config } = this.deps;
    const startedAtMs = clock.nowMs();
    const untilMs = startedAtMs - youngMs;
    const before = currentDrifts(this.results);
    const again = [...underWay(run), ...before.filter(({ check, callId }) => check !== DriftCheck.DRIFT_CHECK_BOOKS && callId !== '')];
    const found = await examine(distinctCalls(again), this.deps);
    const tally = tallyFrom(startedAtMs, found);
    await this.walk({ accountId: '', fromMs: Math.max(0, run.watermarkMs - overlapMs), untilMs }, '', tally, Number.POSITIVE_INFINITY);
    const drifts = await recheck(distinct(tally.drifts), this.deps);
    drifts.push(...(await this.examineSums(tally, drifts)));
    const accounts = wrongBooks(this.results);
    if (accounts.length <= wrongBooksMax) for (const accountId of accounts) drifts.push(...(await this.verify(accountId, tally)));
    const result = this.finish(tally, drifts, before);
    await claim.store({
      ...run,
      dueAtMs: clock.nowMs() + config.reconcileIntervalMs,
      watermarkMs: untilMs,
      progress: BatchGetHoldsRequest.encode({
        items: distinctCalls(tally.unfinished)
          .slice(0, unfinishedMax)
          .map(({ callId, accountId }) => ({ holdId: callId, accountId })),
      }).finish(),
      result: Reconciliation.encode(result).finish(),
    });
    await this.readResults(before);
  }

  /** Executes a slice of the full run, and reports whether there are more. */
  private async runFull(run: RunState, claim: RunClaim): Promise<boolean> {
    const { clock, config } = this.deps;
    const tally = run.progress.length === 0 ? tallyFrom(clock.nowMs()) : tallyOf(Reconciliation.decode(run.progress));
    const known = tally.drifts.splice(0);
    // Later calls are left to the recent runs. Without an end, a run under load would follow the calls that are made meanwhile.
    const untilMs = Number(tally.sums.startedAtMs) - youngMs;
    const pageToken = await this.walk({ accountId: '', fromMs: 0, untilMs }, run.pageToken, tally, config.reconcileSliceMs);
    const found = await recheck(distinct(tally.drifts), this.deps);
    const drifts = distinct([...known, ...found, ...(await this.examineSums(tally, found))]);
    if (pageToken !== '') {
      const progress = Reconciliation.encode({ ...tally.sums, drifts: drifts.slice(0, driftsMax) }).finish();
      await claim.store({ ...run, dueAtMs: clock.nowMs(), pageToken, progress });
      return true;
    }
    drifts.push(...(await this.verify('', tally)));
    const before = currentDrifts(this.results);
    const result = this.finish(tally, drifts, before);
    const dueAtMs = Number(result.startedAtMs) + config.reconcileFullIntervalMs;
    await claim.store({ ...run, dueAtMs, pageToken: '', progress: Buffer.alloc(0), result: Reconciliation.encode(result).finish() });
    await this.readResults(before);
    return false;
  }

  /** Reads the results again once a run has stored its own; `before` are the drifts that were known before. */
  private async readResults(before: readonly Drift[]): Promise<void> {
    this.results = resultsOf(await readRuns(this.deps.db));
    if (before.length > 0 && currentDrifts(this.results).length === 0) this.deps.log.info('the books agree again');
  }

  /** Walks through pages for this long; returns the token where it stopped, or empty at the end. */
  private async walk(extent: Extent, from: string, tally: Tally, sliceMs: number): Promise<string> {
    const pacer = new Pacer(this.outcome.signal);
    const endMs = performance.now() + sliceMs;
    let pageToken = from;
    do {
      const page = await examinePage(extent, pageToken, this.deps);
      tally.sums.recordsChecked += BigInt(page.recordsChecked);
      tally.sums.holdsChecked += BigInt(page.holdsChecked);
      tally.sums.settlementsChecked += BigInt(page.settlementsChecked);
      if (tally.drifts.length < suspectsMax) tally.drifts.push(...page.drifts);
      if (tally.unfinished.length < unfinishedMax) tally.unfinished.push(...page.unfinished);
      if (tally.quarters.size < quartersSeenMax)
        for (const quarter of page.quarters) tally.quarters.set(`${quarter.accountId} ${quarter.startMs}`, quarter);
      pageToken = page.nextPageToken;
      await pacer.step();
    } while (pageToken !== '' && performance.now() < endMs);
    return pageToken;
  }

  /** Compares the sums from which totals are read with the records of the run; if one is wrong, all are rebuilt. */
  private async examineSums({ quarters }: Tally, found: readonly Drift[]): Promise<Drift[]> {
    const wrong = await examineSums(quarters, found, this.deps, this.outcome.signal);
    if (wrong.length > 0) await rebuildRollups(this.deps.db);
    return wrong;
  }

  /** Returns the drifts that the ledger's Verify finds, in all accounts if `accountId` is empty. */
  private async verify(accountId: string, { sums }: Tally): Promise<Drift[]> {
    const context = callContext({ caller: 'metering', timeoutMs: verifyTimeoutMs, signal: this.outcome.signal });
    const verified = await this.deps.ledger.verify({ accountId }, context);
    sums.accountsChecked += verified.accountsChecked;
    sums.entriesChecked += verified.entriesChecked;
    const check = DriftCheck.DRIFT_CHECK_BOOKS;
    const drifts = verified.drifts.map(({ accountId: account, subject: what, storedNanoUsd, rebuiltNanoUsd }): Drift => {
      return {
        check,
        accountId: account,
        callId: /req_[0-9a-f]{32}/.exec(what)?.[0] ?? '',
        subject: what,
        stored: storedNanoUsd,
        expected: rebuiltNanoUsd,
      };
    });
    if (verified.sumNanoUsd !== 0n)
      drifts.push({ check, accountId, callId: '', subject: 'debits less credits', stored: verified.sumNanoUsd, expected: 0n });
    return drifts;
  }

  private finish({ sums }: Tally, found: readonly Drift[], before: readonly Drift[]): Reconciliation {
    const { clock, log } = this.deps;
    const drifts = listed(found);
    // A run of the other kind may have ended meanwhile.
    const known = new Set([...before, ...currentDrifts(this.results)].map(identityOf));
    for (const drift of drifts) {
      // Each drift is logged once; the metric shows that it persists.
      if (known.has(identityOf(drift))) continue;
      const { check, accountId, callId, subject, stored, expected } = drift;
      log.error(
        { check: DriftCheck[check], account_id: accountId, call_id: callId, subject, stored: String(stored), expected: String(expected) },
        'the books disagree',
      );
    }
    return { ...sums, finishedAtMs: BigInt(clock.nowMs()), drifts };
  }
}

/** Holds what a run has found so far. */
interface Tally extends Findings {
  readonly sums: Reconciliation;
  readonly quarters: QuartersSeen;
}

function tallyFrom(startedAtMs: number, found: Findings = { drifts: [], unfinished: [] }): Tally {
  return {
    sums: Reconciliation.fromPartial({ startedAtMs: BigInt(startedAtMs) }),
    drifts: [...found.drifts],
    unfinished: [...found.unfinished],
    quarters: new Map(),
  };
}

function tallyOf(sums: Reconciliation): Tally {
  return { sums: { ...sums, drifts: [] }, drifts: [...sums.drifts], unfinished: [], quarters: new Map() };
}

function underWay(run: RunState): CallName[] {
  return BatchGetHoldsRequest.decode(run.progress).items.map(({ holdId, accountId }) => ({ callId: holdId, accountId }));
}

function distinctCalls(calls: readonly CallName[]): CallName[] {
  return [...new Map(calls.map(({ callId, accountId }) => [`${accountId} ${callId}`, { callId, accountId }])).values()];
}
