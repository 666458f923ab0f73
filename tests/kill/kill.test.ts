// Kills and pauses every process at random instants under load, and then checks that the bill of every call is right.
// TOLLGATE_TEST_KILLS sets the total number of kills; TOLLGATE_TEST_SEED repeats the schedule of a run. Meanwhile backups are made, of both modes if
// TOLLGATE_TEST_BACKUPS sets their number.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import { createKey } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, type StubUpstream } from '../upstream/stub-upstream.js';
import { type Backup, restoreAndRead, takeBackups } from './backups.js';
import { readQuietBooks } from './books.js';
import { addStubModels, type CallKind, callKinds, costOf, type Price, readPrices } from './call-kinds.js';
import { jsonable, keepEvidence } from './evidence.js';
import { createFaults, type Fault } from './faults.js';
import { judge, type Reference } from './judge.js';
import { type Load, startLoad } from './load.js';
import { makeCall, type Outcome } from './outcome.js';
import { seeded } from './random.js';
import { runSchedule } from './schedule.js';
import { footprints, ownFaults } from './survivors.js';

const killsWanted = Number(process.env['TOLLGATE_TEST_KILLS'] ?? 15);
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? Math.floor(Math.random() * 1e9));
// By default one, in single mode, because a restored system takes its time to start and to settle.
const backupsWanted = process.env['TOLLGATE_TEST_BACKUPS'];
const callers = 12;
const leaseMs = 3000;
const holdTtlMs = 8000;
const checkpointMs = 200;
// The number of deltas that the fastest kind of call writes between two checkpoints.
const deltasInTransitMax = checkpointMs / 5;
// A kill takes some seconds, more on a busy machine.
const testMsMax = 240_000 + killsWanted * 15_000;
const residentBytesMax = 600 * 2 ** 20;
const openFilesMax = 400;
const wholeBetweenFaults = callers;
const servedMsMax = 60_000;

describe.each(modes)('a system whose processes are killed and stopped under load, %s', (mode) => {
  const kills = mode === 'single' ? Math.floor(killsWanted / 3) : Math.ceil((killsWanted * 2) / 3);
  const random = seeded(seed + kills);
  let system: System;
  let stub: StubUpstream;
  let secrets: string[];
  let accountIds: string[];
  let prices: Map<string, Price>;
  const references = new Map<CallKind, Reference>();
  const outcomes: Outcome[] = [];
  // Short leases, so that lost calls are closed within the test. Some pauses are shorter than the lease, others longer.
  const env = {
    // The disk-full test has a single process without gateway threads.
    ...(mode === 'single' ? { TOLLGATE_GATEWAY_THREADS: '2' } : {}),
    TOLLGATE_METERING_LEASE: `${leaseMs}ms`,
    // Longer than a gateway needs to detect a dead connection (15 s), or to restart on a busy machine. If it were not, its reports would come too late.
    TOLLGATE_METERING_LOST_GRACE: '30s',
    TOLLGATE_METERING_SWEEP_INTERVAL: '200ms',
    TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: `${checkpointMs}ms`,
    TOLLGATE_GATEWAY_HOLD_TTL: `${holdTtlMs}ms`,
    TOLLGATE_METERING_HOLD_TTL: `${holdTtlMs}ms`,
    TOLLGATE_METERING_SETTLE_BACKOFF_MAX: '2s',
  };
  const backupsHere = Number(backupsWanted ?? (mode === 'single' ? 1 : 0));
  let taken: { folder: string; backups: Backup[] } = { folder: '', backups: [] };

  beforeAll(async () => {
    stub = await startStubUpstream();
    system = await startSystem(mode, env);
    await addStubModels(system, stub);
    const { id: first } = await system.json<{ id: string }>('account', 'list');
    const { id: second } = await system.json<{ id: string }>('account', 'create', 'second');
    accountIds = [first, second];
    for (const id of accountIds) await system.cli('balance', 'deposit', '500', '--account', id);
    const limited = await createKey(system, 'limited', '--account', first, '--limit', '200');
    const other = await createKey(system, 'other', '--account', second);
    secrets = [system.firstKey, limited.secret, other.secret];
    prices = await readPrices(system, callKinds);
  }, 120_000);

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
    if (taken.folder !== '') rmSync(taken.folder, { recursive: true, force: true });
  });

  it('gives the same answer for each kind of call, and charges tokens × price', async () => {
    const undisturbed = async (kind: CallKind): Promise<void> => {
      let outcome = await makeCall(system.baseUrl, secrets[0]!, kind, { readsToEnd: true });
      // Each gateway thread reads the list of upstreams once a second, so a model with a new upstream may be unavailable for that long.
      for (let tries = 0; outcome.how === 'refused' && outcome.reason === 'model_unavailable' && tries < 30; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        outcome = await makeCall(system.baseUrl, secrets[0]!, kind, { readsToEnd: true });
      }
      expect(outcome).toMatchObject({ how: 'whole', reported: { input: expect.any(Number), output: expect.any(Number) } });
      expect(outcome.reported!.output).toBeLessThanOrEqual(kind.maxTokens);
      expect(costOf(outcome.reported!, prices.get(kind.model)!)).toBeGreaterThan(0n);
      references.set(kind, { text: outcome.text, tokens: outcome.reported! });
      outcomes.push(outcome);
    };
    await Promise.all(callKinds.map(undisturbed));
  }, 120_000);

  it(
    'has charged every full answer once, and nothing else, when it has recovered',
    async () => {
      const faults = createFaults(system, () => stub.nextRequest());
      const load = startLoad({ baseUrl: system.baseUrl, secrets, kinds: callKinds, callers, random });
      try {
        [taken] = await Promise.all([
          takeBackups(system, backupsHere, seeded(seed)),
          runSchedule(mode, faults, { kills, stops: Math.ceil(kills / 3) }, () => untilServedAgain(load), random),
        ]);
      } finally {
        await load.stop();
        outcomes.push(...load.outcomes);
      }
      // Immediately, while calls that were in flight are still being cleaned up.
      const afterwards = await Promise.all(callKinds.map((kind) => makeCall(system.baseUrl, secrets[0]!, kind)));
      outcomes.push(...afterwards);

      const books = await readQuietBooks(system, accountIds, leaseMs + 1500, 150_000);
      const { violations, ...sums } = judge(outcomes, books, { prices, references, deltasInTransitMax });
      const own = ownFaults(system.output());
      const evidence =
        violations.length + own.length === 0
          ? ''
          : keepEvidence({ seed, mode, faults: faults.done, outcomes, books, output: system.output() });
      report(faults.done, outcomes, sums);
      expect({ seed, evidence, violations, own }).toEqual({ seed, evidence: '', violations: [], own: [] });
      expect(afterwards.filter(({ how, kind }) => how !== 'whole' && kind.disconnectsAfter === undefined)).toEqual([]);
      expect(faults.done.filter(({ what }) => what === 'kill').length).toBeGreaterThanOrEqual(kills);
      expect(await system.tryCli('doctor')).toMatchObject({ code: 0 });
      const large = footprints(system).filter(
        ({ residentBytes, openFiles }) => residentBytes > residentBytesMax || openFiles > openFilesMax,
      );
      expect(large).toEqual([]);
    },
    testMsMax,
  );

  if (backupsHere > 0)
    it(
      'is restored from each backup with a right bill of all calls that were answered when the backup began',
      async () => {
        expect(taken.backups).toHaveLength(backupsHere);
        for (const backup of taken.backups) {
          const restored = await restoreAndRead(system, backup, {
            env,
            accountIds,
            outcomes,
            quietMs: leaseMs + 1500,
            probe: (baseUrl) => makeCall(baseUrl, secrets[0]!, callKinds[0]!),
          });
          const { violations } = judge(restored.outcomes, restored.books, { prices, references, deltasInTransitMax });
          const { open_holds, settled_again, calls_in_flight } = restored.report;
          process.stdout.write(
            `${mode}: ${restored.answered} answered calls, ${JSON.stringify({ open_holds, settled_again, calls_in_flight })}\n`,
          );
          expect({ seed, backup, violations }).toEqual({ seed, backup, violations: [] });
          expect(restored.outcomes.at(-1)).toMatchObject({ how: 'whole' });
          expect(restored.answered).toBeGreaterThan(0);
        }
      },
      60_000 + backupsHere * 240_000,
    );

  /** Waits until some calls have been answered in full again, so that the next fault meets calls in flight. */
  async function untilServedAgain({ outcomes: seen }: Load): Promise<void> {
    const whole = (): number => seen.filter(({ how }) => how === 'whole').length;
    const before = whole();
    await eventually(() => (whole() >= before + wholeBetweenFaults ? true : undefined), servedMsMax);
  }

  const named = ({ what, target, isAtCall }: Fault): string => `${what} ${target}${isAtCall ? ' as an upstream is called' : ''}`;

  function report(faults: readonly Fault[], calls: readonly Outcome[], more: object): void {
    const counts = countBy(faults, named);
    const serving = Object.keys(counts).map((name) => {
      const times = faults.filter((fault) => named(fault) === name).flatMap(({ servingAfterMs }) => servingAfterMs ?? []);
      times.sort((one, other) => one - other);
      return `  ${name}: ${counts[name]} times, served again after ${times[Math.floor((times.length - 1) / 2)]} ms (median), ${times.at(-1)} ms (longest)`;
    });
    const killed = faults.filter(({ what }) => what === 'kill').length;
    const text = JSON.stringify(more, jsonable);
    process.stdout.write(
      `${mode}, seed ${seed}: ${killed} kills, ${faults.length - killed} pauses and restarts, ${calls.length} calls\n${serving.join('\n')}\n  ${text}\n`,
    );
  }
});

function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[nameOf(item)] = (counts[nameOf(item)] ?? 0) + 1;
  return counts;
}
