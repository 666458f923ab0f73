// Databases that cannot write for a while, under load: new calls are refused clearly, calls in flight end as documented, and everything
// recovers by itself once there is space again.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { grpcurl } from '../support/clients/grpcurl.js';
import { eventually } from '../support/systems/process.js';
import { pidsOf } from '../support/systems/processes.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { readQuietBooks } from './books.js';
import { type CallKind, callKinds, type Price, readPrices } from './call-kinds.js';
import { disksHere } from './disks.js';
import { jsonable, keepEvidence } from './evidence.js';
import { judge, type Reference } from './judge.js';
import { startLoad } from './load.js';
import { makeCall, type Outcome } from './outcome.js';
import { seeded } from './random.js';
import { ownFaults } from './survivors.js';

const leaseMs = 5000;
const holdTtlMs = 30_000;
const patienceMs = 3000;
// Longer than calls wait to be recorded, so that some clients receive an error in place of the end of the answer.
const fullMs = 6000;
const foundMsMax = 30_000;
const noticedMsMax = 2000;
/** Readings after that time. */
const lateReadingsMin = 4;
// A database keeps writing until the free space in its own files is used up. Before that, a slow write can have a call refused already.
const usedUpMsMax = 60_000;
const kinds = callKinds.filter(({ model }) => model.startsWith('sandbox/'));
const probes = kinds.filter(({ model, isStream }) => model === 'sandbox/echo' && !isStream);

/** What load balancers see. */
interface Readiness {
  /** Since new calls are refused. */
  readonly afterMs: number;
  readonly isReady: boolean;
  /** What /readyz names. */
  readonly missing: readonly string[];
  /** The services of these two that gRPC health reports as serving. */
  readonly serving: readonly string[];
}

async function readinessOf(system: System, sinceMs = Date.now()): Promise<Readiness> {
  const afterMs = Date.now() - sinceMs;
  const response = await fetch(`${system.baseUrl}/readyz`);
  const { missing = [] } = (await response.json()) as { missing?: string[] };
  const serving: string[] = [];
  for (const service of ['ledger', 'metering'] as const) {
    const answer = await grpcurl(system, service, [], 'grpc.health.v1.Health/Check');
    if (answer.includes('"SERVING"')) serving.push(service);
  }
  return { afterMs, isReady: response.status === 200, missing, serving };
}

describe.each(modes.flatMap((mode) => disksHere().map((disk) => ({ mode, disk, name: disk.name }))))('$mode on $name', ({ mode, disk }) => {
  let system: System;
  let prices: Map<string, Price>;
  let accountId: string;
  const references = new Map<CallKind, Reference>();
  const outcomes: Outcome[] = [];

  beforeAll(async () => {
    const folder = disk.prepare();
    const settings = {
      TOLLGATE_STARTING_BALANCE_USD: '100',
      TOLLGATE_GATEWAY_RECORD_PATIENCE: `${patienceMs}ms`,
      TOLLGATE_METERING_LEASE: `${leaseMs}ms`,
      TOLLGATE_METERING_LOST_GRACE: '5s',
      TOLLGATE_METERING_SWEEP_INTERVAL: '200ms',
      TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '200ms',
      TOLLGATE_GATEWAY_HOLD_TTL: `${holdTtlMs}ms`,
      TOLLGATE_METERING_HOLD_TTL: `${holdTtlMs}ms`,
      TOLLGATE_METERING_SETTLE_BACKOFF_MAX: '2s',
    };
    system = await startSystem(mode, settings, folder);
    accountId = (await system.json<{ id: string }>('account', 'list')).id;
    prices = await readPrices(system, kinds);
    // On a busy machine, the short time limits of this test can have a call refused while the disk still has room.
    const undisturbed = async (kind: CallKind): Promise<void> => {
      const { text, tokens } = await eventually(async () => {
        const outcome = await makeCall(system.baseUrl, system.firstKey, kind, { readsToEnd: true });
        outcomes.push(outcome);
        return outcome.how === 'whole' ? { text: outcome.text, tokens: outcome.reported! } : undefined;
      }, 60_000);
      references.set(kind, { text, tokens });
    };
    await Promise.all(kinds.map(undisturbed));
  }, 120_000);

  afterAll(async () => {
    await system?.stop();
    disk.remove();
  });

  it('refuses new calls clearly, neither loses nor duplicates a charge, and recovers by itself', async () => {
    const pids = mode === 'single' ? { single: system.pid() } : pidsOf(system);
    const probe = (): Promise<Outcome[]> => Promise.all(probes.map((kind) => makeCall(system.baseUrl, system.firstKey, kind)));
    const load = startLoad({ baseUrl: system.baseUrl, secrets: [system.firstKey], kinds, callers: 8, random: seeded(1) });
    const refused: Outcome[] = [];
    const readiness: Readiness[] = [];
    const isLate = ({ afterMs }: Readiness): boolean => afterMs > noticedMsMax;
    try {
      await sleep(1500);
      await disk.refuseWrites(system);
      try {
        let sinceMs = Date.now();
        const giveUpAtMs = sinceMs + usedUpMsMax;
        // A busy machine reads readiness less often.
        while (Date.now() < sinceMs + fullMs || readiness.filter(isLate).length < lateReadingsMin) {
          const probed = await probe();
          if (probed.some(({ how }) => how === 'whole')) {
            if (Date.now() > giveUpAtMs) throw new Error(`calls are still answered after ${usedUpMsMax} ms`);
            outcomes.push(...refused.splice(0), ...probed);
            readiness.length = 0;
            sinceMs = Date.now();
            continue;
          }
          refused.push(...probed);
          readiness.push(await readinessOf(system, sinceMs));
          await sleep(300);
        }
      } finally {
        await disk.allowWrites(system);
      }
      await eventually(async () => {
        const probed = await probe();
        outcomes.push(...probed);
        return probed.every(({ how }) => how === 'whole') ? true : undefined;
      }, foundMsMax);
      await eventually(async () => ((await readinessOf(system)).isReady ? true : undefined), foundMsMax);
      await sleep(1500);
    } finally {
      await load.stop();
      outcomes.push(...refused, ...load.outcomes);
    }
    const books = await readQuietBooks(system, [accountId], leaseMs + 1500, 90_000);
    const { violations, ...sums } = judge(outcomes, books, { prices, references, deltasInTransitMax: 20 });
    const evidence = violations.length === 0 ? '' : keepEvidence({ outcomes, books, output: system.output() });
    process.stdout.write(`${mode} on ${disk.name}: ${JSON.stringify(sums, jsonable)}\n`);
    expect({ evidence, violations }).toEqual({ evidence: '', violations: [] });
    // Each format has its own error type for this, and says when to retry.
    const clear = refused.map(({ kind, how, status, reason, retryAfter }) => ({
      path: kind.path,
      how,
      status,
      reason,
      comesBack: Number(retryAfter) >= 1,
    }));
    expect(clear).toEqual(
      refused.map(({ kind }) => ({
        path: kind.path,
        how: 'refused',
        status: kind.path === '/v1/messages' ? 529 : 503,
        reason: 'service_unavailable',
        comesBack: true,
      })),
    );
    // The first checks may still know of a write that succeeded, and gRPC health follows within a second.
    const late = readiness.filter(isLate);
    expect(late.length).toBeGreaterThanOrEqual(lateReadingsMin);
    expect(late.filter(({ isReady, serving }) => isReady || serving.length > 1)).toEqual([]);
    expect(mode === 'single' ? { single: system.pid() } : pidsOf(system)).toEqual(pids);
    expect(ownFaults(system.output())).toEqual([]);
    expect(await system.tryCli('doctor')).toMatchObject({ code: 0 });
  }, 240_000);
});
