// Settlements on a Galera cluster whose nodes are killed and stopped under load: each acknowledged one is on every node, once.
// TOLLGATE_TEST_GALERA_ROUNDS sets how often the failures are repeated (default: one round).
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionLost } from '#kit/db/errors.js';
import { faultOf, troubleOf } from '#kit/db/mysql/probe.js';
import { openDatabase } from '#kit/db/open.js';
import { createLogger } from '#kit/log.js';
import { silentLog } from '#kit/testing/log.js';
import { type GaleraCluster, type GaleraNode, startGalera } from '../../deploy/distributed/galera/cluster.js';
import { keepRunning } from '../../deploy/distributed/galera/supervised.js';
import { eventually, root } from '../support/systems/process.js';
import { expectBooks, type Load, type Replica, startLoad, startReplica } from '../support/clients/settle-load.js';

const rounds = Number(process.env['TOLLGATE_TEST_GALERA_ROUNDS'] ?? '1');
const schema = 'tollgate_ledger';
const replicaCount = 3;
const callers = 24;
const manyAccounts = 12;
/** Few enough for transactions on two nodes to conflict. */
const fewAccounts = 2;
const loadMs = 2500;
const stoppedMs = 6000;
/** How long it may take until all nodes are in the cluster again. */
const patienceMs = 60_000;
/** How long a node may be stuck as a donor before it is restarted. */
const stuckDonorMs = 3000;
/** How long a node may be outside of the cluster before it is restarted. */
const outsideMs = 10_000;
/** How long the cluster may be without a serving node before all nodes are restarted. */
const noneServesMs = 15_000;
const probeMs = 1000;

jest.setTimeout(120_000 + rounds * 180_000);
// Where scripts/install/galera.sh puts programs that are not installed as packages.
process.env['PATH'] = [join(root, '.toolchain', 'galera'), process.env['PATH']].join(delimiter);

describe('a Galera cluster', () => {
  let dataDir: string;
  let cluster: GaleraCluster;
  let supervision: ReturnType<typeof keepRunning> | undefined;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'tollgate with spaces-'));
    cluster = await startGalera({ dataDir, log: createLogger({ name: 'galera', level: 'warn' }) });
  });

  // On a busy machine, a node can lose the others while they receive its data at the start of the cluster, and is then stuck as a donor.
  beforeEach(() => untilAllServe());

  afterAll(async () => {
    await (supervision ?? cluster)?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Returns the cluster's address with this node first, so that clients write to it, which they may also migrate. */
  const urlFrom = (first: GaleraNode): string => {
    const nodes = [first, ...cluster.nodes.filter((node) => node !== first)];
    return cluster.migrationUrl(schema).replace(/@[^/]*/, `@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`);
  };
  /**
   * Checks the books on every node, once all nodes are in the cluster and have applied the same transactions. On a busy machine a node
   * can be removed from the cluster at any time, when it is silent for one second; it comes back by itself.
   */
  const expectBooksOnEveryNode = async (load: Load): Promise<void> => {
    const untilMs = performance.now() + patienceMs;
    await untilAllServe(async () => expect(new Set(await valuesOf('wsrep_last_committed')).size).toBe(1));
    for (const node of cluster.nodes) {
      for (;;) {
        try {
          await expectBooks(node.url(schema), load.settled);
          break;
        } catch (error) {
          // Only lost connections are retried, never a failed check.
          if (!isConnectionLost(error) || performance.now() > untilMs) throw error;
          await sleep(200);
        }
      }
    }
  };
  const untilAllServe = (expectMore?: () => Promise<void>): Promise<boolean> =>
    eventually(async () => {
      if (supervision === undefined) await restartStuckNodes();
      await expectMore?.();
      expect(await Promise.all(cluster.nodes.map(faultOfNode))).toEqual([undefined, undefined, undefined]);
      return true;
    }, 2 * patienceMs);
  /** Does what the supervisor of a cluster does. */
  const restartStuckNodes = async (): Promise<void> => {
    for (const node of await cluster.stopStuckNodes({ stuckDonor: stuckDonorMs, outside: outsideMs })) await cluster.restart(node);
  };
  const faultOfNode = (node: GaleraNode): Promise<string | undefined> =>
    faultOf({ host: '127.0.0.1', port: node.port }, loginTo(node), probeMs);
  const loginTo = (node: GaleraNode): { user: string; password: string } => {
    const { username, password } = new URL(node.url(schema));
    return { user: username, password };
  };
  const killAndRestart = async (node: GaleraNode): Promise<void> => {
    node.kill('SIGKILL');
    await node.ended;
    await sleep(loadMs);
    await cluster.restart(node);
  };
  const balancesOf = async (): Promise<unknown> => {
    const db = openDatabase(cluster.url(schema), { poolMax: 1 });
    const rows: unknown = await db
      .knex('bucket')
      .select('slot', 'account_id', 'scope_id', 'spent_nano_usd')
      .orderBy(['slot', 'account_id', 'scope_id']);
    await db.close();
    return rows;
  };
  /** Returns how many transactions were rolled back because of one on another node, as the nodes have counted since they started. */
  const conflictsSoFar = async (): Promise<number> => (await sum('wsrep_local_bf_aborts')) + (await sum('wsrep_local_cert_failures'));
  const sum = async (status: string): Promise<number> => (await valuesOf(status)).reduce((total, value) => total + value, 0);
  const valuesOf = async (status: string, nodes = cluster.nodes): Promise<number[]> =>
    Promise.all(
      nodes.map(async (node) => {
        const db = openDatabase(node.url(schema), { poolMax: 1 });
        const [rows] = (await db.knex.raw(`SHOW GLOBAL STATUS LIKE '${status}'`)) as [{ Value: string }[]];
        await db.close();
        return Number(rows[0]!.Value);
      }),
    );
  /** Runs `work` under the load of replicas on an empty schema; `order` returns the node that each replica prefers. */
  async function withLoad(order: (index: number) => GaleraNode, accounts: number, work: (load: Load) => Promise<void>): Promise<Load> {
    const admin = openDatabase(`${cluster.adminUrl}mysql`, { poolMax: 1 });
    await admin.knex.raw(`DROP DATABASE ${schema}`);
    await admin.knex.raw(`CREATE DATABASE ${schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
    await admin.close();
    // The nodes apply a transaction some time after it is committed on one of them.
    await eventually(async () => expect(new Set(await valuesOf('wsrep_last_committed')).size).toBe(1) ?? true, patienceMs);
    // Starts all of them at once: one migrates and the others wait for it, whichever nodes they use.
    const replicas: Replica[] = await Promise.all(Array.from({ length: replicaCount }, (_, index) => startReplica(urlFrom(order(index)))));
    try {
      const load = await startLoad(replicas, callers, accounts);
      await sleep(loadMs);
      await work(load);
      await load.stop();
      return load;
    } finally {
      for (const replica of replicas) await replica.stop();
    }
  }

  it('neither loses nor duplicates a settlement when the active node is killed or paused, or when all nodes are killed', async () => {
    const [first, second] = cluster.nodes as [GaleraNode, GaleraNode];
    const load = await withLoad(
      () => first,
      manyAccounts,
      async (running) => {
        for (let round = 1; round <= rounds; round += 1) {
          const killedAtMs = performance.now();
          await killAndRestart(first);
          const killGapMs = running.longestGapMs(killedAtMs);
          // The replicas have failed over to the second node and stay there.
          const stoppedAtMs = performance.now();
          second.kill('SIGSTOP');
          await sleep(stoppedMs);
          second.kill('SIGCONT');
          // The node was removed from the cluster and comes back by itself.
          await eventually(async () => expect(await faultOfNode(second)).toBeUndefined() ?? true, patienceMs);
          const stopGapMs = running.longestGapMs(stoppedAtMs);
          process.stdout.write(
            `galera, round ${round}: nothing acknowledged for ${Math.round(killGapMs)} ms after SIGKILL, ${Math.round(stopGapMs)} ms after SIGSTOP; ` +
              `${running.settled.size} settlements so far, ${running.unknowns()} answers unknown at first\n`,
          );
          for (const node of cluster.nodes) node.kill('SIGKILL');
          await Promise.all(cluster.nodes.map(({ ended }) => ended));
          await cluster.restart(first);
          await sleep(loadMs);
        }
      },
    );
    expect(load.settled.size).toBeGreaterThan(callers);
    await expectBooksOnEveryNode(load);
  });

  it('neither loses nor duplicates a settlement when the replicas write to different nodes and roll each other back', async () => {
    const before = await conflictsSoFar();
    const third = cluster.nodes[2]!;
    let conflicts = 0;
    const load = await withLoad(
      (index) => cluster.nodes[index % cluster.nodes.length]!,
      fewAccounts,
      async () => {
        conflicts = (await conflictsSoFar()) - before;
        for (let round = 1; round <= rounds; round += 1) await killAndRestart(third);
      },
    );
    process.stdout.write(
      `galera, writers on every node: ${conflicts} conflicts in the first ${loadMs} ms; ${load.settled.size} settlements in all\n`,
    );
    expect(conflicts).toBeGreaterThan(0);
    await expectBooksOnEveryNode(load);
  });

  it('leaves no process behind when stopped, and keeps its data across a restart', async () => {
    const pids = cluster.nodes.map(({ pid }) => pid);
    const balances = await balancesOf();
    await cluster.stop();
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
    cluster = await startGalera({ dataDir, log: createLogger({ name: 'galera', level: 'warn' }) });
    expect(await balancesOf()).toEqual(balances);
  });

  it('restarts a node that is stuck as a donor after losing the cluster', async () => {
    const [first, second, third] = cluster.nodes as [GaleraNode, GaleraNode, GaleraNode];
    const isStuck = async (): Promise<boolean> =>
      (await troubleOf({ host: '127.0.0.1', port: first.port }, loginTo(first), probeMs)) === 'stuckDonor';
    const pid = first.pid;
    // The donor keeps sending until the test has seen that it lost the other node.
    const held = join(dataDir, 'transfer', 'held');
    writeFileSync(held, '');
    const sendScript = join(dataDir, 'transfer', 'wsrep_sst_rsync');
    const wait = `case "$*" in *'--role donor'*) while [ -e '${held}' ]; do sleep 0.1; done;; esac`;
    writeFileSync(sendScript, readFileSync(sendScript, 'utf8').replace('\n', `\n${wait}\n`));
    for (const [node, size] of [
      [third, 2],
      [second, 1],
    ] as const) {
      node.kill('SIGTERM');
      await node.ended;
      await eventually(async () => expect((await valuesOf('wsrep_cluster_size', [first]))[0]).toBe(size) ?? true, patienceMs);
    }
    const back = cluster.restart(second);
    await eventually(async () => expect((await valuesOf('wsrep_local_state', [first]))[0]).toBe(2) ?? true, patienceMs);
    second.kill('SIGSTOP');
    await eventually(async () => expect(await faultOfNode(first)).toContain('primary component') ?? true, patienceMs);
    const log = join(dataDir, first.name, 'mariadb.log');
    // Earlier tests may have left the same line.
    const loggedBefore = readFileSync(log, 'utf8').length;
    rmSync(held);
    const logged = (): string => readFileSync(log, 'utf8').slice(loggedBefore);
    await eventually(() => (logged().includes('sst sent called when not SST donor') ? true : undefined), patienceMs);
    second.kill('SIGCONT');
    // If the two nodes do not find each other again, or lose each other at once because the machine is busy, there is no majority, and no node is stuck.
    const isBack = await Promise.race([back.then(() => true), sleep(patienceMs).then(() => false)]);
    back.catch(() => undefined);
    const isApart = async (): Promise<boolean> => (await faultOfNode(first))?.includes('primary component') === true;
    if (isBack) await eventually(async () => expect((await isStuck()) || (await isApart())).toBe(true) ?? true);

    supervision = keepRunning(cluster, {
      log: silentLog,
      restartDelayMs: 100,
      stuckDonorMs,
      outsideMs,
      noneServesMs,
    });
    await untilAllServe();
    expect(first.pid).not.toBe(pid);
  });

  it('restarts a node that stays outside of the cluster', async () => {
    const [, second] = cluster.nodes as [GaleraNode, GaleraNode, GaleraNode];
    const pid = second.pid;
    const admin = openDatabase(cluster.adminUrl.replace(/@[^/]*\/.*/, `@127.0.0.1:${second.port}/mysql`));
    // As if the network did not carry what the node sends to the others.
    await admin.knex.raw("SET GLOBAL wsrep_provider_options = 'gmcast.isolate = 1'");
    await admin.close();
    await eventually(async () => expect(await faultOfNode(second)).toContain('primary component') ?? true, patienceMs);
    await untilAllServe();
    expect(second.pid).not.toBe(pid);
  });

  it('is bootstrapped again when the running nodes have no majority', async () => {
    const [first, second, third] = cluster.nodes as [GaleraNode, GaleraNode, GaleraNode];
    const pid = first.pid;
    const balances = await balancesOf();
    for (const node of [second, third]) node.kill('SIGSTOP');
    await eventually(async () => expect(await faultOfNode(first)).toBeDefined() ?? true, patienceMs);
    await eventually(() => (first.pid === pid ? undefined : true), patienceMs);
    await untilAllServe();
    expect(balances).not.toEqual([]);
    expect(await balancesOf()).toEqual(balances);
  });
});
