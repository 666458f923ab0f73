// Money on a Galera cluster whose nodes are killed and stopped under load: what was acknowledged is there once, on every node.
// TOLLGATE_TEST_GALERA_ROUNDS repeats the failures (one round unless set).
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionLost } from '#kit/db/errors.js';
import { faultOf, isLeftDonor } from '#kit/db/mysql/probe.js';
import { openDatabase } from '#kit/db/open.js';
import { createLogger } from '#kit/log.js';
import { type GaleraCluster, type GaleraNode, startGalera } from '../../deploy/distributed/galera/cluster.js';
import { keepRunning } from '../../deploy/distributed/galera/supervised.js';
import { eventually, root } from '../support/process.js';
import { expectBooks, type Load, type Replica, startLoad, startReplica } from '../support/settle-load.js';

const rounds = Number(process.env['TOLLGATE_TEST_GALERA_ROUNDS'] ?? '1');
const schema = 'tollgate_ledger';
const replicaCount = 3;
const callers = 24;
const manyAccounts = 12;
/** So few that transactions on two nodes meet. */
const fewAccounts = 2;
const loadMs = 2500;
const stoppedMs = 6000;
/** How long nodes may take to be all in the cluster again. */
const patienceMs = 60_000;
/** A node that was left a donor is started again after this time, and all of them when none has served for that one. */
const leftDonorMs = 3000;
const nobodyServesMs = 15_000;
const probeMs = 1000;

jest.setTimeout(120_000 + rounds * 180_000);
// Where scripts/ensure-galera.sh puts what is not installed as a package.
process.env['PATH'] = [join(root, '.toolchain', 'galera'), process.env['PATH']].join(delimiter);

describe('a Galera cluster', () => {
  let dataDir: string;
  let cluster: GaleraCluster;
  let supervision: ReturnType<typeof keepRunning> | undefined;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'tollgate-galera-'));
    cluster = await startGalera({ dataDir, log: createLogger({ name: 'galera', level: 'warn' }) });
  });

  afterAll(async () => {
    await (supervision ?? cluster)?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** The cluster's address with this node first, so that it is the one that is written to. */
  const urlFrom = (first: GaleraNode): string => {
    const nodes = [first, ...cluster.nodes.filter((node) => node !== first)];
    return first.url(schema).replace(/@[^/]*/, `@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`);
  };
  /**
   * Compares the books on each node, once all of them are in the cluster and have applied the same transactions. A busy machine costs
   * a node its place when nothing is heard of it for a second, at any time; it comes back by itself.
   */
  const everywhere = async (load: Load): Promise<void> => {
    const untilMs = performance.now() + patienceMs;
    await eventually(async () => {
      // As whoever supervises a cluster does.
      for (const node of await cluster.endLeftDonors(leftDonorMs)) await cluster.restart(node);
      const positions = await valuesOf('wsrep_last_committed');
      expect(positions).toEqual(positions.map(() => positions[0]));
      expect(await Promise.all(cluster.nodes.map(faultOfNode))).toEqual(cluster.nodes.map(() => undefined));
      return true;
    }, patienceMs);
    for (const node of cluster.nodes) {
      for (;;) {
        try {
          await expectBooks(node.url(schema), load.settled);
          break;
        } catch (error) {
          // What the books hold is never asked twice.
          if (!isConnectionLost(error) || performance.now() > untilMs) throw error;
          await sleep(200);
        }
      }
    }
  };
  const allServe = (): Promise<boolean> =>
    eventually(
      async () => expect(await Promise.all(cluster.nodes.map(faultOfNode))).toEqual([undefined, undefined, undefined]) ?? true,
      2 * patienceMs,
    );
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
  /** How often a transaction was rolled back for one on another node, by what the nodes say since their starts. */
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
  /** Replicas on an empty schema; `order` says which node each of them prefers. */
  async function withLoad(order: (index: number) => GaleraNode, accounts: number, work: (load: Load) => Promise<void>): Promise<Load> {
    const admin = openDatabase(`${cluster.adminUrl}mysql`, { poolMax: 1 });
    await admin.knex.raw(`DROP DATABASE ${schema}`);
    await admin.knex.raw(`CREATE DATABASE ${schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
    await admin.close();
    // All of them at once: one migrates, the others wait for it, whichever nodes they are on.
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

  it('loses no acknowledged settlement and charges none twice when the node that is written to is killed, or stopped for a while, and when all are killed', async () => {
    const [first, second] = cluster.nodes as [GaleraNode, GaleraNode];
    const load = await withLoad(
      () => first,
      manyAccounts,
      async (running) => {
        for (let round = 1; round <= rounds; round += 1) {
          const killedAtMs = performance.now();
          await killAndRestart(first);
          const killGapMs = running.longestGapMs(killedAtMs);
          // The replicas have gone on to the second node, and stay there.
          const stoppedAtMs = performance.now();
          second.kill('SIGSTOP');
          await sleep(stoppedMs);
          second.kill('SIGCONT');
          // It was left out, and comes back by itself.
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
    await everywhere(load);
  });

  it('does so too when every replica writes to another node and they roll each other back', async () => {
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
    await everywhere(load);
  });

  it('ends without leaving a process, and starts again with its data', async () => {
    const pids = cluster.nodes.map(({ pid }) => pid);
    const balances = await balancesOf();
    await cluster.stop();
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
    cluster = await startGalera({ dataDir, log: createLogger({ name: 'galera', level: 'warn' }) });
    expect(await balancesOf()).toEqual(balances);
  });

  it('starts a node again that lost the others while it gave them its data, and would not serve by itself', async () => {
    const [first, second, third] = cluster.nodes as [GaleraNode, GaleraNode, GaleraNode];
    const isLeft = (): Promise<boolean> => isLeftDonor({ host: '127.0.0.1', port: first.port }, loginTo(first), probeMs);
    const pid = first.pid;
    // It gives until long after the others have gone silent.
    const giver = join(dataDir, 'transfer', 'wsrep_sst_rsync');
    writeFileSync(giver, readFileSync(giver, 'utf8').replace('\n', `\ncase "$*" in *donor*) sleep 2;; esac\n`));
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
    const log = join(dataDir, first.name, 'mariadb.log');
    await eventually(() => (readFileSync(log, 'utf8').includes('sst sent called when not SST donor') ? true : undefined), patienceMs);
    second.kill('SIGCONT');
    // Where the two do not find each other again, there is no majority and it does not come back.
    const isBack = await Promise.race([back.then(() => true), sleep(patienceMs).then(() => false)]);
    back.catch(() => undefined);
    if (isBack) expect(await isLeft()).toBe(true);

    supervision = keepRunning(cluster, {
      log: createLogger({ name: 'galera', level: 'silent' }),
      restartDelayMs: 100,
      leftDonorMs,
      nobodyServesMs,
    });
    await allServe();
    expect(first.pid).not.toBe(pid);
  });

  it('founds itself anew when the nodes that run have no majority', async () => {
    const [first, second, third] = cluster.nodes as [GaleraNode, GaleraNode, GaleraNode];
    const pid = first.pid;
    const balances = await balancesOf();
    for (const node of [second, third]) node.kill('SIGSTOP');
    await eventually(async () => expect(await faultOfNode(first)).toBeDefined() ?? true, patienceMs);
    await eventually(() => (first.pid === pid ? undefined : true), patienceMs);
    await allServe();
    expect(balances).not.toEqual([]);
    expect(await balancesOf()).toEqual(balances);
  });
});
